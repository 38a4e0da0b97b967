"""Devices that models are compiled for, tuned for and measured on, as values."""

from tandem.devices.accelerator import Accelerator
from tandem.devices.cpu import Cpu
from tandem.devices.device import TargetDevice

__all__ = ["Accelerator", "Cpu", "TargetDevice"]
