"""A stream of the graph as a step of an artifact."""

from __future__ import annotations

from compiler.build.accelerator.operator import Lowering
from compiler.build.accelerator.streams import Offloaded, stream_code
from compiler.build.program import Invocation
from compiler.graph.infer import infer
from compiler.graph.nodes import Call, Tuple, Var
from compiler.graph.types import TensorType
from runtime.artifact import StreamCall
from runtime.artifact.stream import StreamCode

__all__ = ["stream_step"]


def stream_step(invocation: Invocation, lowering: Lowering) -> tuple[StreamCall, StreamCode]:
    """The step, and the code that it runs."""
    stream = invocation.kernel
    types = infer(stream)
    calls, results = [], [stream.body.result]
    for let in stream.body.lets:
        type_ = types[let.name]
        if isinstance(let.value, Tuple):
            results = [*let.value.items]
            continue
        assert isinstance(let.value, Call), "verified: streams call kernels"
        assert isinstance(type_, TensorType), "kernels for the accelerator give one tensor"
        calls.append(Offloaded(let.name, let.value, type_))
    names = [each.name for each in results if isinstance(each, Var)]
    code = stream_code(stream.name, calls, names, lowering)
    given = {
        param.name: operand
        for param, operand in zip(stream.params, invocation.operands, strict=True)
        if isinstance(operand, str)
    }
    step = StreamCall(
        name=invocation.name,
        stream=stream.name,
        inputs=tuple(given[each.name] for each in code.inputs),
        outputs=invocation.outputs,
        operators=tuple(each for layer in code.layers for each in layer.operators),
        macs=sum(layer.macs for layer in code.layers),
    )
    return step, code
