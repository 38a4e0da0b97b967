"""Pictures as inputs of networks."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Final
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from tandem.base.input_files import open_input
from tandem.runtime.artifact import Tensor
from tandem.runtime.errors import InputError

SUFFIXES = (".png", ".jpg", ".jpeg")
PICTURE_BYTES: Final = 1 << 28
"""Limit of pictures, as files."""
_MARGIN = 256 / 224
"""Ratio of the resized picture's shorter side to the centre crop's side."""
_MOST_PIXELS = 1 << 26
"""Limit of a picture's pixels, as stored and resized: 8,192 x 8,192."""
_MEAN = np.array([0.485, 0.456, 0.406])
_DEVIATION = np.array([0.229, 0.224, 0.225])
_MODES = {1: "L", 3: "RGB"}
"""Pillow's names of modes, by the number of channels."""


class PixelNormalisation(Enum):
    """The normalisation of pixels, whose values are 0..1."""

    IMAGENET = "imagenet"
    """(x - mean) / deviation of ImageNet's pictures, as torchvision's models expect."""
    UNIT = "unit"
    """The values 0..1 are kept."""


def read_picture(path: Path, tensor: Tensor, pixels: PixelNormalisation) -> NDArray[Any]:
    """A picture, resized and cropped to the tensor's height and width, as torchvision does it.

    Raises
    ------
    InputError
        No picture; a tensor that is not float32[1, 1 or 3, H, W]; `IMAGENET` with one channel.
    """
    from PIL import Image, UnidentifiedImageError  # imported here: arrays need no Pillow

    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[1] not in _MODES:
        raise InputError(f"{path}: input {tensor.name} is {tensor}: a picture is [1, 1 or 3, H, W]")
    if tensor.dtype != "float32":
        raise InputError(f"{path}: input {tensor.name} is {tensor}: a picture is float32")
    _, channels, height, width = tensor.shape
    try:
        with catch_warnings(), open_input(path, PICTURE_BYTES) as file:
            # Pillow warns of pictures that are refused below.
            simplefilter("ignore", Image.DecompressionBombWarning)
            opened = Image.open(file)
            if opened.width * opened.height > _MOST_PIXELS:
                raise ValueError(
                    f"the picture has {opened.width:,} x {opened.height:,} pixels; at most "
                    f"{_MOST_PIXELS:,} are read"
                )
            picture = opened.convert(_MODES[channels])
    except UnidentifiedImageError:
        raise InputError(f"{path} is no picture that can be read") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: {reason}") from None
    scale = max(height / picture.height, width / picture.width) * _MARGIN
    if picture.width * scale * picture.height * scale > _MOST_PIXELS:
        raise InputError(
            f"{path}: {picture.width:,} x {picture.height:,} pixels are too narrow to be resized "
            f"for {width} x {height}"
        )
    size = (max(width, round(picture.width * scale)), max(height, round(picture.height * scale)))
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    resized = picture.resize(size, Image.Resampling.BILINEAR)
    cut = resized.crop((left, top, left + width, top + height))
    values = np.asarray(cut, np.float64).reshape(height, width, channels) / 255
    if pixels is PixelNormalisation.IMAGENET:
        if channels == 1:
            raise InputError(
                f"{path}: input {tensor.name} has one channel, and ImageNet's pixels have three: "
                f"{PixelNormalisation.UNIT.value} pixels are meant"
            )
        values = (values - _MEAN) / _DEVIATION
    return np.ascontiguousarray(values.transpose(2, 0, 1)[np.newaxis], np.float32)
