"""Pictures as inputs."""

from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from PIL import Image

from tandem.runtime.artifact import Input, Tensor
from tandem.runtime.errors import InputError
from tandem.runtime.inputs import PixelNormalisation, read_inputs
from tandem.runtime.inputs.pictures import read_picture

X = Tensor("x", (1, 3, 224, 224), "float32", Input())


def picture(path: Path, size: tuple[int, int], colour: tuple[int, int, int]) -> Path:
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.JPEG"])
def test_the_statistics_of_imagenet(tmp_path: Path, name: str) -> None:
    path = picture(tmp_path / name, (300, 500), (51, 102, 204))
    found = read_inputs([path], [X])["x"]
    assert found.shape == X.shape
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    wanted = [(0.2 - 0.485) / 0.229, (0.4 - 0.456) / 0.224, (0.8 - 0.406) / 0.225]
    for channel, value in enumerate(wanted):
        np.testing.assert_allclose(found[0, channel], value, atol=0.02)


def test_the_middle_of_the_shorter_side(tmp_path: Path) -> None:
    """Of 512 x 1024, resized to 256 x 512, the middle 224: rows 288..736 of the picture."""
    pixels = np.zeros((1024, 512, 3), np.uint8)
    pixels[292:732, 36:476] = 255
    Image.fromarray(pixels).save(tmp_path / "x.png")
    found = read_picture(tmp_path / "x.png", X, PixelNormalisation.UNIT)
    assert (found[0, :, 4:-4, 4:-4] == 1).all()
    assert (found[0, :, 0] < 1).all()
    assert (found[0, :, :, 0] < 1).all()
    assert (found[0, :, :, -1] < 1).all()


def test_grey_pictures(tmp_path: Path) -> None:
    path = picture(tmp_path / "x.png", (9, 9), (51, 51, 51))
    grey = Tensor("x", (1, 1, 8, 8), "float32", Input())
    np.testing.assert_allclose(read_picture(path, grey, PixelNormalisation.UNIT), 0.2, rtol=1e-6)
    with pytest.raises(InputError, match="has one channel, and ImageNet's pixels have three"):
        read_picture(path, grey, PixelNormalisation.IMAGENET)


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor("x", (2, 3, 8, 8), "float32", Input()),
        Tensor("x", (1, 8, 8, 3), "float32", Input()),
        Tensor("x", (1, 3, 8, 8), "uint8", Input()),
        Tensor("x", (3, 8, 8), "float32", Input()),
    ],
)
def test_inputs_that_are_no_pictures(tmp_path: Path, tensor: Tensor) -> None:
    path = picture(tmp_path / "x.png", (9, 9), (0, 0, 0))
    with pytest.raises(InputError, match=r"x\.png: input x is .*: a picture is"):
        read_picture(path, tensor, PixelNormalisation.IMAGENET)


def test_files_that_are_no_pictures(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    with pytest.raises(InputError, match=r"x\.png: No such file"):
        read_picture(path, X, PixelNormalisation.IMAGENET)
    path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="is no picture that can be read"):
        read_picture(path, X, PixelNormalisation.IMAGENET)
    whole = picture(tmp_path / "y.png", (200, 200), (1, 2, 3)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"x\.png: "):
        read_picture(path, X, PixelNormalisation.IMAGENET)


def claims_size(path: Path, width: int, height: int) -> Path:
    """A PNG whose header has another size."""
    data = bytearray(picture(path, (9, 9), (1, 2, 3)).read_bytes())
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", crc32(data[12:29]))
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(("width", "height"), [(8193, 8192), (100_000, 1000), (1 << 20, 1 << 20)])
def test_pictures_of_too_many_pixels(tmp_path: Path, width: int, height: int) -> None:
    path = claims_size(tmp_path / "x.png", width, height)
    with pytest.raises(InputError, match=r"x\.png: .*pixels"):
        read_picture(path, X, PixelNormalisation.IMAGENET)


def test_pictures_that_are_too_narrow(tmp_path: Path) -> None:
    """As wide as the input, they would be millions of pixels high."""
    path = picture(tmp_path / "x.png", (1, 30_000), (1, 2, 3))
    wide = Tensor("x", (1, 3, 224, 224), "float32", Input())
    with pytest.raises(InputError, match=r"1 x 30,000 pixels are too narrow to be resized for 224"):
        read_picture(path, wide, PixelNormalisation.IMAGENET)
