"""Modules of PyTorch as ONNX models, by PyTorch's own exporter."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onnx import ModelProto

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.reading import read_model
from tandem.workbench.errors import MissingPackageError

_MODULE = ("torch.nn.modules.module", "Module")


def is_torch_module(value: object) -> bool:
    """Whether a value is a `torch.nn.Module`; imports nothing."""
    return any((kind.__module__, kind.__qualname__) == _MODULE for kind in type(value).__mro__)


def exported(module: Any, inputs: tuple[Any, ...]) -> ModelProto:
    """A module as an ONNX model.

    Parameters
    ----------
    inputs
        What the module is called with.

    Raises
    ------
    MissingPackageError
        PyTorch, or a package that its exporter needs, is not installed.
    FrontendError
        The exporter refuses the module; its reason is the error's cause.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            import_module("torch.onnx").export(module, inputs, str(path))
        except ImportError as error:
            package = error.name or "torch"
            raise MissingPackageError("a torch.nn.Module", package, package) from error
        except Exception as error:
            name = type(module).__name__
            raise FrontendError(f"PyTorch cannot export {name}: {error}") from error
        return read_model(path)
