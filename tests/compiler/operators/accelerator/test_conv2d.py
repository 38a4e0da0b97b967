"""The description of a convolution: its stages, and what it refuses."""

from __future__ import annotations

import pytest

from compiler.errors import TensorError
from compiler.ir.dtypes import INT8, INT32
from compiler.operators.accelerator.conv2d import packed_conv2d
from compiler.operators.accelerator.epilogue import Pass
from compiler.te import Tensor, placeholder
from hw.encoding import AluOp

DATA = placeholder((1, 2, 6, 5, 1, 16), INT8, "data")
WEIGHT = placeholder((3, 2, 3, 3, 16, 16), INT8, "weight")


def test_stages_and_shapes() -> None:
    conv = packed_conv2d(
        DATA, WEIGHT, [Pass(AluOp.SHR, 4)], strides=(2, 1), padding=(1, 0, 1, 2), name="c"
    )
    assert (conv.padded.name, conv.padded.shape) == ("c_pad", (1, 2, 8, 7, 1, 16))
    assert (conv.sums.name, conv.sums.shape) == ("c_sum", (1, 3, 3, 5, 1, 16))
    assert [stage for stage, _ in conv.passes] == ["c_0_shr"]
    assert (conv.output.name, conv.output.dtype) == ("c", INT8)


def test_without_padding_there_is_no_stage_for_it() -> None:
    assert packed_conv2d(DATA, WEIGHT, []).padded is DATA


def test_groups_read_blocks_of_their_own() -> None:
    """Four output blocks in two groups, and two input blocks for each group."""
    data = placeholder((1, 4, 6, 5, 1, 16), INT8, "data")
    weight = placeholder((4, 2, 3, 3, 16, 16), INT8, "weight")
    conv = packed_conv2d(data, weight, [], groups=2)
    assert conv.groups == 2
    assert conv.sums.shape == (1, 4, 4, 3, 1, 16)
    with pytest.raises(TensorError, match="in 3 groups, has other input channels"):
        packed_conv2d(data, weight, [], groups=3)
    with pytest.raises(TensorError, match="has 3 output blocks for 2 groups"):
        packed_conv2d(data, placeholder((3, 2, 3, 3, 16, 16), INT8, "weight"), [], groups=2)


@pytest.mark.parametrize(
    ("data", "weight", "message"),
    [
        (
            placeholder((1, 2, 6, 5), INT8, "data"),
            WEIGHT,
            r"data int8\[1, 2, 6, 5\] has to be packed, int8\[N, IC, H, W, B, K\]$",
        ),
        (placeholder(DATA.shape, INT32, "data"), WEIGHT, "has to be packed"),
        (DATA, placeholder(WEIGHT.shape[:4], INT8, "weight"), r"int8\[OC, IC, KH, KW, L, K\]$"),
        (
            DATA,
            placeholder((3, 4, 3, 3, 16, 16), INT8, "weight"),
            r"weight int8\[3, 4, 3, 3, 16, 16\] has other input channels than data "
            r"int8\[1, 2, 6, 5, 1, 16\]$",
        ),
        (DATA, placeholder((3, 2, 7, 3, 16, 16), INT8, "weight"), "7"),
    ],
)
def test_refuses(data: Tensor, weight: Tensor, message: str) -> None:
    with pytest.raises(TensorError, match=rf"^conv2d conv: .*{message}"):
        packed_conv2d(data, weight, [])
