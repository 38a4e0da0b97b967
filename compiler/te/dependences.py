"""Dependences between the iterations of a loop, on which the legality of primitives rests.

A loop drives an axis of a block if the axis's value mentions the loop's variable. Splitting and
fusing keep the iterations of a nest and the points of a block's domain in one-to-one
correspondence; so different iterations of a loop that drives spatial axes write different elements.
"""

from __future__ import annotations

from tandem.compiler.ir.expr import Binary, Load
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.stmt import Alloc, Block, For, Invoke, IterKind, LoopKind, Store
from tandem.compiler.ir.visit import blocks, statements, variables
from tandem.compiler.te.tree import allocated, read_by, written_by

_ORDERLESS = (BinaryOp.MIN, BinaryOp.MAX, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def axis_kinds(loop: str, block: Block) -> frozenset[IterKind]:
    """The kinds of the block's axes that a loop drives."""
    return frozenset(each.kind for each in block.iters if loop in variables(each.value))


def reassociable(block: Block) -> bool:
    """Whether a reduction gives the same bits for every order of its terms.

    True of integers, whose sums and products wrap, and of minima, maxima and logic.
    """
    for stmt in statements(block.body):
        match stmt:
            case Store(buffer=buffer, indices=indices, value=Binary(op=op, left=left)) if (
                buffer.dtype.is_float and op not in _ORDERLESS and left == Load(buffer, indices)
            ):
                return False
            case Invoke(intrinsic=intrinsic) if any(
                output.dtype.is_float for output in intrinsic.outputs
            ):
                return False
            case _:
                pass
    return True


def carried_dependence(loop: For) -> str | None:
    """The reason why a loop's iterations cannot run in any order, or at once; None if they can."""
    private = allocated(loop.body)
    name = loop.var.name
    for block in blocks(loop.body):
        for buffer in sorted(written_by(block)):
            if buffer in private:
                continue
            kinds = axis_kinds(name, block)
            if IterKind.REDUCE in kinds:
                return f"{block.name} reduces along {name}"
            if not kinds:
                return f"every iteration of {name} writes the same elements of {buffer}"
            for other in blocks(loop.body):
                if buffer in read_by(other) and buffer not in written_by(other):
                    return f"{other.name} reads {buffer}, which other iterations of {name} write"
    return None


def vectorization_obstacle(loop: For, reassociate: bool) -> str | None:
    """The reason why a loop's iterations cannot be vector lanes; None if they can."""
    name = loop.var.name
    for stmt in statements(loop.body):
        match stmt:
            case Alloc(buffer=buffer):
                return f"each lane would need a {buffer.name} of its own, allocated inside {name}"
            case For(var=var, kind=LoopKind.PARALLEL | LoopKind.VECTORIZED as kind):
                return f"loop {var.name} inside it is {kind.value}"
            case Invoke(intrinsic=intrinsic):
                return f"{intrinsic.name} inside it is no operation on lanes"
            case Block() if axis_kinds(name, stmt) == {IterKind.REDUCE}:
                if stmt.init is not None:
                    return f"{stmt.name} is initialised inside {name}: decompose_reduction first"
                if not reassociable(stmt) and not reassociate:
                    return (
                        f"{stmt.name} adds floats along {name}; lanes add in another order, which "
                        f"changes roundings: reassociate permits it"
                    )
            case _:
                pass
    kinds = {kind for each in blocks(loop.body) for kind in axis_kinds(name, each)}
    return None if kinds == {IterKind.REDUCE} else carried_dependence(loop)
