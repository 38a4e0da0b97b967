"""Devices, which execute the steps of an artifact: the CPU and the simulated accelerator."""

from tandem.runtime.devices.accelerator import AcceleratorDevice
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.devices.device import Device, StepFunction

__all__ = ["AcceleratorDevice", "CpuDevice", "Device", "StepFunction"]
