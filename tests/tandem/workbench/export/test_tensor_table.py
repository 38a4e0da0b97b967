"""Tables of tensors: what C reads of them is what the network has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import PlacedTensor
from tandem.workbench.export.tensor_table import c_float, layout_words
from tests.support.compiler.models.digits import digits
from tests.support.workbench.cross import make

PRINT = """
#include "digits.h"
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < DIGITS_TENSORS; i++) {
        const struct tandem_tensor *t = &digits_tensors[i];

        printf("%s %s %s|", t->name, t->type, t->layout);
        for (uint32_t k = 0; k < t->rank; k++) printf(" %u:%u", t->dimensions[k], t->strides[k]);
        printf(" %u %d %u %d", t->bytes, t->stream, t->offset, t->axis);
        for (uint32_t k = 0; k < t->scales; k++) printf(" %.9g-%d", t->steps[k], t->zeros[k]);
        puts("");
    }
    return 0;
}
"""


def test_what_c_reads(tmp_path: Path) -> None:
    artifact = digits("tiny", io="int8")
    exported = artifact.export(tmp_path)
    (tmp_path / "print.c").write_text(PRINT)
    make(tmp_path, "libdigits.a")
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "print.c", "libdigits.a", "-lm"]
    subprocess.run([*command, "-o", "print"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "print"], capture_output=True, text=True, check=True)
    first, second, *others = done.stdout.splitlines()
    tensors = {each.name: each for each in artifact.network.artifact.manifest.tensors}
    scale = tensors["input"].scale
    assert scale is not None
    assert first == f"input int8 row-major| 1:64 1:64 8:8 8:1 64 -1 0 -1 {scale.step:.9g}-0"
    assert second.startswith("output int32 row-major| 1:10 10:1 40 -1 0 1 ")
    assert len(second.split("1 0 1 ")[1].split()) == 10
    placed = [*exported.header.streams[0].inputs, *exported.header.streams[0].outputs]
    for line, tensor in zip(others, placed, strict=True):
        head, _, numbers = line.partition("|")
        strides = np.zeros(tensor.shape, tensor.dtype).strides
        axes = " ".join(f"{n}:{step}" for n, step in zip(tensor.shape, strides, strict=True))
        size = np.prod(tensor.shape)
        assert head.startswith(f"{tensor.name} {tensor.dtype} ")
        assert numbers == f" {axes} {size} 0 {tensor.address} -1"


@pytest.mark.parametrize(
    ("shape", "of_windows", "words"),
    [
        ((1, 2, 8, 8, 1, 8), False, "batch / 1, channel / 8, row, column, batch % 1, channel % 8"),
        (
            (1, 2, 8, 8, 1, 8),
            True,
            "batch / 1, tap / 8, row, column, batch % 1, tap % 8; "
            "taps count channels, then rows and columns of a window",
        ),
        (
            (4, 1, 2, 1, 8),
            False,
            "byte of an int32, the least significant first, batch / 1, channel / 8, batch % 1, "
            "channel % 8",
        ),
        ((3, 5), False, "axes as the stream has them"),
    ],
)
def test_words(shape: tuple[int, ...], of_windows: bool, words: str) -> None:
    tensor = PlacedTensor("t", 0, shape, "int8")
    assert layout_words(tensor, load_config("small8"), of_windows=of_windows) == words


def test_literals() -> None:
    for number in (1.0, 0.1, 1e-30, 3e20, 0.024459345266222954):
        text = c_float(float(np.float32(number)))
        assert text.endswith("f")
        assert np.float32(text[:-1]) == np.float32(number)
