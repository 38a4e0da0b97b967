"""The runtime: runs artifacts on devices: the CPU and engines of `sim`."""
