"""Windows of a convolution that a tensor has as channels."""

from __future__ import annotations

from msgspec import Struct


class Windows(Struct, frozen=True, forbid_unknown_fields=True):
    """The windows of an image that the host has packed as channels of another one (im2col).

    Attributes
    ----------
    kernel, strides, dilations
        Those of the convolution, for rows and columns.
    pads
        Zeros around the image: top, left, bottom and right, as ONNX orders them.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
