"""Devices that models are compiled for, tuned for and measured on, as values."""

from tandem.workbench.devices.accelerator import Accelerator
from tandem.workbench.devices.cpu import PROCESSOR_NAMES, Cpu
from tandem.workbench.devices.device import TargetDevice
from tandem.workbench.devices.opencl import OpenCl

__all__ = ["PROCESSOR_NAMES", "Accelerator", "Cpu", "OpenCl", "TargetDevice"]
