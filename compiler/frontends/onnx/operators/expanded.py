"""Operators that are taken as what the standard says they are short for.

Only those for which that was seen to work: of some, what the `onnx` package makes leaves defaults
of attributes out, and computes something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["EXPANDED"]

EXPANDED: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "Attention": (23, 24, 25),
        "CausalConvWithState": (27,),
        "CenterCropPad": (18,),
        "RotaryEmbedding": (23,),
        "SwiGLU": (28,),
    }
)
"""Versions of each, as a converter has them."""
