"""Built-in networks, as ONNX models.

`scripts/train_digits.py` has trained `digits`; the others are made with random weights.
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
"""Functions from the seed of random weights to the model, by name."""


def built_in(name: str, seed: int = 0) -> ModelProto:
    """The built-in model of this name; KeyError if there is none."""
    return BUILT_IN[name](seed)
