"""Kernels for the accelerator as programs."""

from __future__ import annotations

import pytest

from compiler.errors import BuildError
from compiler.graph import Call, Function
from compiler.graph.native import NativeRunner
from compiler.graph.nodes import FunctionKind
from compiler.graph.passes import transform
from compiler.graph.passes.offload import offload_passes
from tests.support.accelerator_operators import machine
from tests.support.graphs import graph
from tests.support.offloaded import lowering
from tests.support.quantised_graphs import residual_net

TINY = machine("tiny")


def calls(function: Function) -> dict[str, Call]:
    """The calls of kernels in the only stream, by the names of their results."""
    passes = offload_passes(NativeRunner(reassociate=False), TINY, lambda *_: True)
    found: dict[str, Call] = {}
    for let in transform(function, passes).body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.STREAM) as stream):
                for each in stream.body.lets:
                    assert isinstance(each.value, Call)
                    found[each.name] = each.value
            case _:
                pass
    return found


@pytest.mark.parametrize(
    ("name", "operators", "macs", "values"),
    [
        ("c1_blocks", ("conv2d", "requantise"), 6 * 75 * 64, "weight"),
        ("pool_blocks", ("max_pool",), 0, ""),
        ("c3_blocks", ("conv2d", "requantise_add"), 6 * 54 * 16, "weight"),
        ("mean_blocks", ("cast", "reduce_sum", "requantise"), 0, ""),
        ("out_acc_bytes", ("dense",), 12 * 5, "weight"),
    ],
)
def test_kernels(name: str, operators: tuple[str, ...], macs: int, values: str) -> None:
    call = calls(residual_net())[name]
    how = lowering(TINY, 1)
    found = how.lower(name, call)
    assert found.name == name
    assert found.operators == operators
    assert found.macs == macs
    assert ("weight" in found.values) == bool(values)
    operator = found.operator(call)
    (output,) = found.program.outputs
    assert operator.tensors[output.name] == name
    assert {each.name for each in found.program.inputs} <= operator.tensors.keys()
    assert how.lower(name, call) is found, "it is known by now"


def test_one_thread_where_two_do_not_fit() -> None:
    """Of the two convolutions the second has 3 x 3 weights of two blocks: too much for twice."""
    call = calls(residual_net())["c2_blocks"]
    twice, once = (lowering(TINY, threads).lower("c2_blocks", call) for threads in (2, 1))
    assert str(twice.program) == str(once.program)
    pool = calls(residual_net())["pool_blocks"]
    twice, once = (lowering(TINY, threads).lower("pool_blocks", pool) for threads in (2, 1))
    assert str(twice.program) != str(once.program)


def test_what_the_accelerator_does_not_do() -> None:
    function = graph(
        "offload @k(p: int8[1, 1, 2, 2, 1, 4]) -> int8[1, 1, 2, 2, 1, 4]:\n"
        "  x: int8[1, 4, 2, 2] = unpack_data(p, shape=[1, 4, 2, 2])\n"
        "  y: int8[1, 4, 2, 2] = negative(x)\n"
        "  q: int8[1, 1, 2, 2, 1, 4] = pack_data(y, batch=1, block=4)\n"
        "  return q\n\n"
        "func @f(p: int8[1, 1, 2, 2, 1, 4]) -> int8[1, 1, 2, 2, 1, 4]:\n"
        "  r = @k(p)\n"
        "  return r\n"
    )
    (let,) = function.body.lets
    assert isinstance(let.value, Call)
    how = lowering(TINY)
    with pytest.raises(BuildError, match=r"^kernel k: the accelerator does not do negative$"):
        how.lower("r", let.value)
    assert not how.accepts("r", let.value)
