"""Devices that models are compiled for, tuned for and measured on, as values."""

from tandem.workbench.devices.accelerator import Accelerator
from tandem.workbench.devices.cpu import PROCESSOR_NAMES, Cpu
from tandem.workbench.devices.device import TargetDevice

__all__ = ["PROCESSOR_NAMES", "Accelerator", "Cpu", "TargetDevice"]
