"""Keys and values that a function of a decoder has as the accelerator reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, RowsCode, Scale
from tandem.runtime.row_writer import RowWriter


@dataclass(frozen=True, slots=True)
class ResidentRows:
    """An input of int8 to which a step adds the rows of a call, in place.

    Attributes
    ----------
    code
        The places of rows.
    scale
        What a row of real numbers is rounded with.
    """

    code: RowsCode
    scale: Scale

    def rounded(self, rows: NDArray[Any]) -> NDArray[np.int8]:
        """Rows [1, heads, n, features] as int8[n, heads * features], as `quantise` rounds."""
        zero = np.float32(self.scale.zero)
        nearest = np.rint(rows / np.float32(self.scale.step))
        kept = np.minimum(np.maximum(nearest, np.float32(-128) - zero), np.float32(127) - zero)
        found = (np.nan_to_num(kept) + zero).astype(np.int8)
        _, heads, count, features = rows.shape
        return found[0].transpose(1, 0, 2).reshape(count, heads * features)


def resident_rows(artifact: Artifact) -> dict[str, ResidentRows]:
    """The inputs of an artifact to which steps add rows, by name."""
    tensors = {each.name: each for each in artifact.manifest.tensors}
    names = {port.tensor: port.name for port in artifact.manifest.inputs}
    found: dict[str, ResidentRows] = {}
    for step in artifact.manifest.steps:
        code = artifact.code[step.code]
        if isinstance(code, RowsCode) and step.inputs[0] in names:
            scale = tensors[step.inputs[0]].scale
            if scale is not None:
                found[names[step.inputs[0]]] = ResidentRows(code, scale)
    return found


class ResidentCache:
    """Memory of such inputs, and what writes rows there.

    Parameters
    ----------
    memory
        By the names of inputs.
    """

    def __init__(self, rows: dict[str, ResidentRows], memory: dict[str, NDArray[Any]]) -> None:
        self.memory = memory
        self._rows = rows
        self._writers = {name: RowWriter(each.code) for name, each in rows.items()}

    def put(self, name: str, rows: NDArray[Any], first: int) -> int:
        """Write rows [1, heads, n, features] of an input from row `first` on; their bytes."""
        self._writers[name].put(self.memory[name], self._rows[name].rounded(rows), first)
        return rows.shape[2] * self._writers[name].row_bytes

    @property
    def call_bytes(self) -> int:
        """The bytes that the steps of a call write."""
        return sum(
            writer.row_bytes * self._rows[name].code.count for name, writer in self._writers.items()
        )
