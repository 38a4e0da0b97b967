"""Layers whose inner loops are measured: as kernels of Tandem, and as the obvious loops in C."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tandem.compiler.graph import Call, Constant, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.compile import emit_assembly
from tandem.compiler.machines.cpu.kernels import cpu_kernel
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.planner import Planner
from tandem.scripts.errors import CommandError

DTYPES: Final = ("float32", "int8")
_C_TYPES: Final = {"float32": ("float", "float"), "int8": ("int8_t", "int32_t")}
"""Types of data and of sums."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with constant weights.

    Attributes
    ----------
    weight
        The shape of the weights.
    kernel
        The kernel's text, with `{t}` for the data's type and `{out}` for the attribute of int32
        sums.
    loops
        C, of `x`, `w`, `y` and the types `data` and `sum`.
    """

    name: str
    weight: tuple[int, ...]
    kernel: str
    loops: str

    def assembly(self, dtype: str, target: CpuTarget) -> str:
        """The code of Tandem for a processor."""
        sums = ", out_dtype=int32" if dtype == "int8" else ""
        text = self.kernel.format(t=dtype, out=sums)
        kernel = InferTypes().apply(parse_function(text, OPERATORS))
        machine, weight = cpu(target), Constant(np.ones(self.weight, dtype))
        plan = Planner(machine).layer(Call(kernel, (Var("x"), weight)))
        made = cpu_kernel(kernel, plan, machine)
        return emit_assembly(made.program, target, streamed=made.streamed)

    def gcc_assembly(self, dtype: str, compiler: Sequence[str]) -> str:
        """The code of GCC for the obvious loop. Raises `CommandError` if the compiler is not
        installed."""
        if shutil.which(compiler[0]) is None:
            raise CommandError(f"{compiler[0]} is not installed: .ci/packages installs it")
        data, sums = _C_TYPES[dtype]
        source = f"""#include <stdint.h>
typedef {data} data;
typedef {sums} sum;
void layer(const data *restrict x, const data *restrict w, sum *restrict y)
{{{self.loops}}}
"""
        command = [*compiler, "-O3", "-S", "-xc", "-", "-o", "-", "-fno-asynchronous-unwind-tables"]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
        return done.stdout


def _dense(rows: int, inputs: int, outputs: int) -> Layer:
    return Layer(
        f"dense, {rows} row{'s' * (rows > 1)}",
        (outputs, inputs),
        f"""
kernel @dense(x: {{t}}[{rows}, {inputs}], w: {{t}}[{outputs}, {inputs}]):
  c = dense(x, w{{out}})
  return c
""",
        f"""
    for (int i = 0; i < {rows}; i++)
        for (int j = 0; j < {outputs}; j++) {{
            sum total = 0;
            for (int k = 0; k < {inputs}; k++)
                total += (sum)x[i * {inputs} + k] * w[j * {inputs} + k];
            y[i * {outputs} + j] = total;
        }}
""",
    )


ROW: Final = _dense(1, 256, 1024)
"""A product of a matrix and a vector."""
LAYERS: Final = (
    Layer(
        "convolution",
        (128, 64, 3, 3),
        """
kernel @convolution(x: {t}[1, 64, 56, 56], w: {t}[128, 64, 3, 3]):
  c = conv2d(x, w, strides=[2, 2], padding=[1, 1, 1, 1]{out})
  return c
""",
        """
    for (int o = 0; o < 128; o++)
        for (int i = 0; i < 28; i++)
            for (int j = 0; j < 28; j++) {
                sum total = 0;
                for (int c = 0; c < 64; c++)
                    for (int a = 0; a < 3; a++)
                        for (int b = 0; b < 3; b++)
                            total += (sum)x[(c * 58 + 2 * i + a) * 58 + 2 * j + b]
                                * w[((o * 64 + c) * 3 + a) * 3 + b];
                y[(o * 28 + i) * 28 + j] = total;
            }
""",
    ),
    _dense(32, 256, 256),
    ROW,
)
"""A convolution of ResNet-18, 3 x 3 with stride 2, from 64 to 128 channels, whose image C has with
its border; and dense layers."""
