"""Devices: what can run steps of an artifact."""

from runtime.devices.accelerator import AcceleratorDevice
from runtime.devices.cpu import CpuDevice
from runtime.devices.device import Device, Ready

__all__ = ["AcceleratorDevice", "CpuDevice", "Device", "Ready"]
