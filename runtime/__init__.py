"""The runtime: runs artifacts on a device, be it an engine of `sim` or the CPU."""
