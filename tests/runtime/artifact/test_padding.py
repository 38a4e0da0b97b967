"""Tensors in blocks: which elements are defined."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.runtime.artifact import Output, PaddedAxis, Tensor

IMAGES, CHANNELS = (0, 4), (1, 5)


def defined(shape: tuple[int, ...], *padded: PaddedAxis) -> list[int]:
    """Flat positions of the elements that are defined."""
    mask = Tensor("t", shape, "int8", Output(), padded=padded).defined
    return np.flatnonzero(np.broadcast_to(mask, shape)).tolist()


def test_without_padding_all_is_defined() -> None:
    assert defined((2, 3)) == [*range(6)]


@pytest.mark.parametrize("images", [5, 6, 7, 8])
def test_images_of_the_last_block(images: int) -> None:
    """Two blocks of four images; two places of one channel."""
    image = np.arange(2 * 2 * 4).reshape(2, 2, 4) // 8 * 4 + np.arange(4)
    found = defined((2, 1, 2, 1, 4, 1), PaddedAxis(images, *IMAGES))
    assert found == np.flatnonzero(image < images).tolist()


@pytest.mark.parametrize("channels", [1, 3, 4, 5, 7])
def test_channels_of_the_last_block(channels: int) -> None:
    """As NumPy packs them: an image of ones, padded with zeros."""
    blocks = -(-channels // 4)
    image = np.zeros((blocks * 4, 2, 3), np.int8)
    image[:channels] = 1
    packed = image.reshape(blocks, 4, 2, 3).transpose(0, 2, 3, 1)
    found = defined((1, blocks, 2, 3, 1, 4), PaddedAxis(channels, *CHANNELS))
    assert found == np.flatnonzero(packed).tolist()


def test_images_and_channels() -> None:
    """One of two images, two of three channels, at two places."""
    axes = PaddedAxis(1, *IMAGES), PaddedAxis(2, *CHANNELS)
    assert defined((1, 1, 2, 1, 2, 3), *axes) == [0, 1, 6, 7]


def test_byte_planes_have_all_blocks() -> None:
    """Four planes of two blocks with four rows, five of which are images."""
    kept = [plane * 8 + row for plane in range(4) for row in range(5)]
    assert defined((8, 1, 1, 1, 4, 1), PaddedAxis(5, *IMAGES)) == kept


@pytest.mark.parametrize(
    ("axis", "fits"),
    [
        (PaddedAxis(3, 0, 2), True),
        (PaddedAxis(4, 0, 2), True),
        (PaddedAxis(5, 0, 2), False),  # Three blocks.
        (PaddedAxis(1, 0, 2), True),  # Two planes of a block.
        (PaddedAxis(0, 0, 2), False),
        (PaddedAxis(-1, 0, 2), False),
        (PaddedAxis(3, 2, 0), False),
        (PaddedAxis(3, 0, 3), False),
        (PaddedAxis(3, -1, 2), False),
    ],
)
def test_what_fits(axis: PaddedAxis, fits: bool) -> None:
    assert axis.fits((2, 5, 2)) is fits


@pytest.mark.parametrize("shape", [(0, 5, 2), (2, 5, 0)])
def test_no_blocks_have_no_elements(shape: tuple[int, ...]) -> None:
    assert not PaddedAxis(3, 0, 2).fits(shape)
