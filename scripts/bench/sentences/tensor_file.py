"""Files of tensors in the safetensors format: a header in JSON, then the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[np.float32]]


def read_tensors(path: Path) -> Tensors:
    """The float32 tensors of a file by name; others, such as positions, are left out.

    The format: eight bytes with the length of the header, the header, and the data, in which
    `data_offsets` count from the header's end.
    """
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        found[name] = np.frombuffer(data[first:last], "<f4").reshape(entry["shape"])
    return found
