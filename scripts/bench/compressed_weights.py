"""Compressed weights on one thread: `python -m tandem.scripts.bench.compressed_weights`.

A dense layer on one row of data, as a decoding network has them, whose weights in int8 are larger
than all caches. What counts is how fast weights come from memory: the share of what a plain read
of memory reaches in int8, and the time in a compressed format relative to that. The layers and the
read alternate, and the quickest of each counts, in time of the processor: on a machine that does
other work beside, more rounds help.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter, process_time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.ir.dtypes import BOOL, UINT2, UINT4
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.hw.weight_formats import FORMATS, WeightFormat
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.scripts.bench.measurements import Measurement, print_measurements

INPUTS: Final = 4096
GROUP: Final = 32
READ_SHARE: Final = 0.7
"""The least share of a plain read's bandwidth that int8 weights come with."""
FASTER: Final = 1.5
"""How many times as fast as in int8 a layer is at least in formats of four bits."""
CODES: Final = {1: BOOL, 2: UINT2, 4: UINT4}
"""The types of codes by their bits."""
_MB: Final = 1 << 20
Array = NDArray[Any]


def measure(
    megabytes: int, rounds: int, names: Sequence[str], rows: int = 1
) -> Iterator[Measurement]:
    """The bandwidths and times of a layer whose weights have so many megabytes in int8."""
    outputs = megabytes * _MB // INPUTS
    x = np.random.default_rng(0).integers(-128, 128, (rows, INPUTS), np.int8)
    functions = {"int8": plain_layer(outputs, rows)}
    functions |= {form.name: layer(form, outputs, rows) for form in FORMATS if form.name in names}
    artifacts = {name: compiled(function) for name, function in functions.items()}
    runs: dict[str, Callable[[], object]] = {
        name: caller(artifact, x) for name, artifact in artifacts.items()
    }
    memory = np.ones(megabytes * _MB // 8, np.int64)
    runs["read"] = lambda: np.bitwise_or.reduce(memory)
    real = {name: compiled(function) for name, function in real_layers(outputs // 4, rows).items()}
    numbers = x.astype(np.float32)
    runs |= {name: caller(artifact, numbers) for name, artifact in real.items()}
    seconds = quickest(runs, rounds, process_time)
    sizes = {name: held(artifact) for name, artifact in artifacts.items()}
    weights = outputs * INPUTS
    read = memory.nbytes / seconds["read"]
    yield Measurement("plain read", read / 1e9, "GB/s")
    for name, size in sizes.items():
        yield Measurement(f"{name}, bits a weight", 8 * size / weights, "bits")
        yield Measurement(f"{name}, weights from memory", size / seconds[name] / 1e9, "GB/s")
        if name == "int8":
            share = size / seconds[name] / read
            yield Measurement(f"{name}, share of the read", share, "of 1", READ_SHARE)
        else:
            faster = seconds["int8"] / seconds[name]
            yield Measurement(f"{name}, speed", faster, "times int8's", FASTER)
    for name, artifact in real.items():
        yield Measurement(f"{name}, bits a weight", 32 * held(artifact) / weights, "bits")
        yield Measurement(f"{name}, speed", seconds["float32"] / seconds[name], "times float32's")


def plain_layer(outputs: int, rows: int) -> Function:
    """A dense layer of random int8 weights."""
    weights = np.random.default_rng(1).integers(-128, 128, (outputs, INPUTS), np.int8)
    constant = Constant(weights)
    return _layer([constant], "", _text(constant), rows)


def layer(form: WeightFormat, outputs: int, rows: int) -> Function:
    """A dense layer of random weights in a format."""
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 1 << form.bits, (outputs, INPUTS), np.uint8)
    constants = [Constant(codes.astype(CODES[form.bits].numpy))]
    attributes = f"table={list(form.table)}"
    if form.scaled:
        many = (outputs, INPUTS // GROUP)
        scales = generator.integers(1, form.largest_scale + 1, many, np.uint8)
        constants.append(Constant(scales.astype(UINT4.numpy)))
        attributes += f", group={GROUP}"
    args = ", ".join(map(_text, constants))
    return _layer(constants, f"  w = widen({args}, {attributes})\n", "w", rows)


def real_layers(outputs: int, rows: int) -> dict[str, Function]:
    """A product of real numbers with a quarter of the weights: of float32, and of four bits in
    blocks with scales, as `MatMulNBits` has them."""
    generator = np.random.default_rng(1)
    weights = Constant(generator.random((INPUTS, outputs), np.float32))
    codes = generator.integers(0, 16, (INPUTS, outputs), np.uint8).astype(UINT4.numpy)
    scales = generator.random((INPUTS // GROUP, outputs), np.float32)
    blocks = [Constant(codes), Constant(scales)]
    args = ", ".join(map(_text, blocks))
    widened = f"  w = dequantise_blocks({args}, axis=0, block={GROUP}, middle=8)\n"
    head = f"func @layer(x: float32[{rows}, {INPUTS}]):\n"
    tail = "  return y\n"
    plain = f"{head}  y = matmul(x, {_text(weights)})\n{tail}"
    packed = f"{head}{widened}  y = matmul(x, w)\n{tail}"
    return {
        "float32": parse_function(plain, OPERATORS, {weights.digest: weights}),
        "four bits": parse_function(packed, OPERATORS, {each.digest: each for each in blocks}),
    }


def _layer(constants: Sequence[Constant], before: str, weights: str, rows: int) -> Function:
    known = {each.digest: each for each in constants}
    head = f"func @layer(x: int8[{rows}, {INPUTS}]):\n"
    body = f"{before}  y = dense(x, {weights})\n  return y\n"
    return parse_function(head + body, OPERATORS, known)


def _text(constant: Constant) -> str:
    return f"{constant.type} @ {REFERENCE}{constant.digest}"


def compiled(function: Function) -> Artifact:
    """The function on one thread of this machine."""
    return build(function, [cpu(CpuTarget.host(threads=1))], Provenance("layer"))


def held(artifact: Artifact) -> int:
    """The bytes of an artifact's constants."""
    return sum(array.nbytes for array in artifact.constants.values())


def caller(artifact: Artifact, x: Array) -> Callable[[], object]:
    """A function that runs an artifact on data."""
    executor = Executor(artifact, [CpuDevice(1)])
    return lambda: executor.run({"x": x})


def quickest(
    runs: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, float]:
    """The seconds of the quickest of so many calls of each function, in alternation."""
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            begun = clock()
            run()
            found[name] = min(found[name], clock() - begun)
    return found


def main(arguments: Sequence[str] = ()) -> int:
    """The command; gives its exit code."""
    known = [form.name for form in FORMATS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "formats", nargs="*", default=["int4", "ternary"], metavar="FORMAT", help=", ".join(known)
    )
    parser.add_argument("--megabytes", type=int, default=256, help="of weights in int8")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1, help="of data")
    given = parser.parse_args(arguments)
    if unknown := set(given.formats) - {*known}:
        parser.error(f"no format {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    return print_measurements(measure(given.megabytes, given.rounds, given.formats, given.rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
