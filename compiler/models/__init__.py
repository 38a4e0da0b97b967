"""Networks that come with the project, as ONNX models.

Those with weights of chance are made on the spot; `digits` was trained, by
`scripts/train_digits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from onnx import ModelProto

from compiler.frontends.onnx.reading import read_model
from compiler.models.resnet import resnet18, resnet34, resnet50

__all__ = ["BUILT_IN", "built_in", "resnet18", "resnet34", "resnet50"]


def _digits(_: int) -> ModelProto:
    return read_model(Path(__file__).parent / "digits.onnx")


BUILT_IN: Final[Mapping[str, Callable[[int], ModelProto]]] = MappingProxyType(
    {"digits": _digits, "resnet18": resnet18, "resnet34": resnet34, "resnet50": resnet50}
)
"""What makes them, of a seed for weights of chance. `digits` has none: it was trained."""


def built_in(name: str, seed: int = 0) -> ModelProto:
    """The model of that name; KeyError if there is none."""
    return BUILT_IN[name](seed)
