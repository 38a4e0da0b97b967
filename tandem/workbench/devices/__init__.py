"""Devices that models are compiled for, tuned for and measured on, as values."""

from tandem.workbench.devices.accelerator import Accelerator
from tandem.workbench.devices.cpu import PROCESSOR_NAMES, Cpu
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.devices.on_gpu import GPUS, Cuda, OnGpu, OpenCl

__all__ = [
    "GPUS",
    "PROCESSOR_NAMES",
    "Accelerator",
    "Cpu",
    "Cuda",
    "OnGpu",
    "OpenCl",
    "TargetDevice",
]
