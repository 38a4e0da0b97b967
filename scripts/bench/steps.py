"""A thousand small steps beside ONNX Runtime: `python -m tandem.scripts.bench.steps`.

One network is a chain of softmax of 8 numbers, none of which is fused with another. Of the other
one, running sums of a single number, the kernels take next to no time: what a step of it takes is
what a step takes beside its kernel, and a thousandth of a call from Python. Times are measured as
those of `small_networks`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.bench.small_networks import ROUNDS, TOLERANCE, race

STEPS: Final = 1000
MOST_TIMES: Final = 1.0
"""The greatest time of the softmax chain, relative to ONNX Runtime's."""
MOST_MICROSECONDS: Final = 0.05
"""The greatest time of a step beside its kernel."""


def softmaxes(steps: int = STEPS) -> ModelProto:
    """`x0` [1, 8] through `steps` softmaxes."""
    nodes = [
        helper.make_node("Softmax", [f"x{step}"], [f"x{step + 1}"], axis=-1)
        for step in range(steps)
    ]
    return _chain(nodes, (1, 8))


def running_sums(steps: int = STEPS) -> ModelProto:
    """`x0` [1] through `steps` running sums, which leave it as it is."""
    nodes = [
        helper.make_node("CumSum", [f"x{step}", "axis"], [f"x{step + 1}"]) for step in range(steps)
    ]
    return _chain(nodes, (1,), [numpy_helper.from_array(np.array(0, np.int64), "axis")])


def _chain(
    nodes: Sequence[NodeProto], shape: Sequence[int], constants: Sequence[TensorProto] = ()
) -> ModelProto:
    """A network of nodes one after the other, on float32."""
    first, last = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name in ("x0", f"x{len(nodes)}")
    )
    graph = helper.make_graph(nodes, "chain", [first], [last], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def measure(steps: int = STEPS, rounds: int = ROUNDS) -> Iterator[Measurement]:
    """The times of a step, and their ratio."""
    ours, rival = race(softmaxes(steps), rounds, TOLERANCE)
    yield Measurement("softmax", ours / steps * 1e6, "us a step")
    yield Measurement("softmax, ONNX Runtime", rival / steps * 1e6, "us a step")
    times = "times ONNX Runtime's time"
    yield Measurement("softmax", ours / rival, times, MOST_TIMES, at_most=True)
    ours, _ = race(running_sums(steps), rounds, TOLERANCE)
    least = ours / steps * 1e6
    yield Measurement("beside kernels", least, "us a step", MOST_MICROSECONDS, at_most=True)


def main(arguments: Sequence[str] = ()) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args(arguments)
    return print_measurements(measure())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
