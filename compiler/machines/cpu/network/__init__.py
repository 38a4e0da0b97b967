"""A whole network as one native function, which calls the kernels of its steps."""

from tandem.compiler.machines.cpu.network.make import make_network

__all__ = ["make_network"]
