"""Tensors in blocks: which elements are defined."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.artifact.manifest import Output, Tensor


def defined(shape: tuple[int, ...], images: int | None) -> list[int]:
    """Flat positions of the elements that are defined."""
    mask = Tensor("t", shape, "int8", Output(), images=images).defined
    return np.flatnonzero(np.broadcast_to(mask, shape)).tolist()


def test_without_blocks_all_is_defined() -> None:
    assert defined((2, 3), None) == [*range(6)]


@pytest.mark.parametrize("images", [5, 6, 7, 8])
def test_images_of_the_last_block(images: int) -> None:
    """Two blocks of four images; two places of one channel."""
    image = np.arange(2 * 2 * 4).reshape(2, 2, 4) // 8 * 4 + np.arange(4)
    assert defined((2, 1, 2, 1, 4, 1), images) == np.flatnonzero(image < images).tolist()


def test_byte_planes_have_all_blocks() -> None:
    """Four planes of two blocks with four rows, five of which are images."""
    kept = [plane * 8 + row for plane in range(4) for row in range(5)]
    assert defined((8, 1, 1, 1, 4, 1), 5) == kept
