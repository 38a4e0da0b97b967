"""Elements of memories: values that lie together."""

from __future__ import annotations

from compiler.errors import LoweringError
from compiler.ir.buffer import Buffer
from compiler.ir.expr import Expr
from compiler.ir.linear import Linear, linear
from compiler.ir.stmt import Region
from compiler.target import AcceleratorTarget
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["check_element", "flat_address", "lanes_of"]


def flat_address(buffer: Buffer, indices: tuple[Expr, ...]) -> Linear:
    """Which value of a buffer, counted in its own order."""
    total = Linear(())
    for each, stride in zip(indices, buffer.strides, strict=True):
        total = total.plus(linear(each), stride)
    return total


def lanes_of(memory: MemoryId, config: HardwareConfig) -> int:
    """Values in one element."""
    if memory is MemoryId.WGT:
        return config.block_out * config.block_in
    return config.batch * (config.block_in if memory is MemoryId.INP else config.block_out)


def check_element(
    instruction: str, parameter: Buffer, region: Region, target: AcceleratorTarget
) -> None:
    """Raises `LoweringError` for a region that is no element of its memory: values that lie
    together."""
    memory = target.memory(parameter.scope)
    lanes = parameter.size if memory is None else lanes_of(memory, target.config)
    if parameter.size != lanes:
        raise LoweringError(
            f"{instruction}: {parameter.name} {list(parameter.shape)} has {parameter.size} values; "
            f"an element of {parameter.scope.value} has {lanes}"
        )
    if region.buffer.scope != parameter.scope:
        raise LoweringError(
            f"{instruction}: {region.buffer.name} lies in {region.buffer.scope.value}, and "
            f"{parameter.name} is in {parameter.scope.value}"
        )
    size = 1
    for extent, whole in zip(reversed(region.shape), reversed(region.buffer.shape), strict=True):
        if extent != (whole if size < parameter.size else 1):
            raise LoweringError(
                f"{instruction}: {list(region.shape)} of {region.buffer.name} "
                f"{list(region.buffer.shape)} is no element of {parameter.size} values that lie "
                f"together"
            )
        size *= extent
