"""What loops mean to the blocks inside: the knowledge that legality rests on.

A loop feeds an axis of a block if the axis's value speaks of the loop's variable. Splitting and
fusing keep the turns of a nest and the points of a block's domain in one-to-one correspondence;
so different turns of a loop that feeds spatial axes write different elements.
"""

from __future__ import annotations

from compiler.ir.expr import Binary, BinaryOp, Load
from compiler.ir.stmt import Alloc, Block, For, Invoke, IterKind, LoopKind, Store
from compiler.ir.visit import blocks, statements, variables
from compiler.te.tree import allocated, read_by, written_by

__all__ = ["any_order", "feeds", "not_independent", "not_vectorizable"]

_ORDERLESS = (BinaryOp.MIN, BinaryOp.MAX, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def feeds(loop: str, block: Block) -> frozenset[IterKind]:
    """The kinds of the block's axes that a loop feeds."""
    return frozenset(each.kind for each in block.iters if loop in variables(each.value))


def any_order(block: Block) -> bool:
    """Whether a block's terms give the same bits in whatever order they are joined.

    True of integers, whose sums and products wrap, and of minima, maxima and logic.
    """
    for each in statements(block.body):
        match each:
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


def not_independent(loop: For) -> str | None:
    """Why the loop's turns cannot run in any order, or at once; None if they can."""
    private = allocated(loop.body)
    name = loop.var.name
    for block in blocks(loop.body):
        for buffer in sorted(written_by(block)):
            if buffer in private:
                continue
            kinds = feeds(name, block)
            if IterKind.REDUCE in kinds:
                return f"{block.name} joins terms along {name}"
            if not kinds:
                return f"every turn of {name} writes the same elements of {buffer}"
            for other in blocks(loop.body):
                if buffer in read_by(other) and buffer not in written_by(other):
                    return f"{other.name} reads {buffer}, which other turns of {name} write"
    return None


def not_vectorizable(loop: For, reassociate: bool) -> str | None:
    """Why the loop's turns cannot be the lanes of vectors; None if they can."""
    name = loop.var.name
    for each in statements(loop.body):
        match each:
            case Alloc(buffer=buffer):
                return f"each lane would need a {buffer.name} of its own, allocated inside {name}"
            case For(var=var, kind=LoopKind.PARALLEL | LoopKind.VECTORIZED as kind):
                return f"loop {var.name} inside it is {kind.value}"
            case Invoke(intrinsic=intrinsic):
                return f"{intrinsic.name} inside it is no operation on lanes"
            case Block() if feeds(name, each) == frozenset({IterKind.REDUCE}):
                if each.init is not None:
                    return f"{each.name} starts its sums inside {name}: decompose_reduction first"
                if not any_order(each) and not reassociate:
                    return (
                        f"{each.name} adds floats along {name}; lanes add in another order, which "
                        f"changes roundings: ask for it with reassociate"
                    )
            case _:
                pass
    kinds = {kind for each in blocks(loop.body) for kind in feeds(name, each)}
    return None if kinds == {IterKind.REDUCE} else not_independent(loop)
