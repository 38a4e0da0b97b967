"""The matrices of Winograd's algorithm (Lavin and Gray, CVPR'16)."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL = 3
Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """Winograd's matrices for tiles of `outputs` pixels a side: of the data, the weights, and the
    output."""

    outputs: int
    data: Matrix
    weight: Matrix
    output: Matrix

    @property
    def inputs(self) -> int:
        """Input pixels a side of a tile."""
        return self.outputs + KERNEL - 1


TRANSFORMS = {
    transform.outputs: transform
    for transform in (
        Transform(
            2,
            ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
            ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
            ((1, 1, 1, 0), (0, 1, -1, -1)),
        ),
        Transform(
            4,
            (
                (4, 0, -5, 0, 1, 0),
                (0, -4, -4, 1, 1, 0),
                (0, 4, -4, -1, 1, 0),
                (0, -2, -1, 2, 1, 0),
                (0, 2, -1, -2, 1, 0),
                (0, 4, 0, -5, 0, 1),
            ),
            (
                (1 / 4, 0, 0),
                (-1 / 6, -1 / 6, -1 / 6),
                (-1 / 6, 1 / 6, -1 / 6),
                (1 / 24, 1 / 12, 1 / 6),
                (1 / 24, -1 / 12, 1 / 6),
                (0, 0, 1),
            ),
            (
                (1, 1, 1, 1, 1, 0),
                (0, 1, -1, 2, -2, 0),
                (0, 1, 1, 4, 4, 0),
                (0, 1, -1, 8, -8, 1),
            ),
        ),
    )
}
"""By the outputs of a tile. Points of interpolation: 0, 1, -1, infinity, and 2, -2 for 4."""
