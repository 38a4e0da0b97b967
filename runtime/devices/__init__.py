"""Devices, which execute the steps of an artifact: the CPU and the simulated accelerator."""

from runtime.devices.accelerator import AcceleratorDevice
from runtime.devices.cpu import CpuDevice
from runtime.devices.device import Device, StepFunction

__all__ = ["AcceleratorDevice", "CpuDevice", "Device", "StepFunction"]
