"""`tandem.load`: what can be loaded, and how it is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

import tandem
from tandem.compiler.errors import CompilerError, FrontendError
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from tests.support.compiler.models.models import convolution, one_channel


def test_a_built_in_network() -> None:
    model = tandem.load("digits")
    assert repr(model).splitlines() == [
        "digits",
        "  inputs      input float32[1, 1, 8, 8]",
        "  outputs     output float32[1, 10]",
        "  operators   conv2d 9, relu 7, add 3, global_average_pool 1, squeeze 1, dense 1",
        "  products    763,520",
        "  parameters  77,418",
    ]


def test_files_and_models_in_memory(model_file: Path) -> None:
    loaded = [tandem.load(each) for each in (model_file, str(model_file), onnx.load(model_file))]
    assert [model.name for model in loaded] == ["net.onnx", "net.onnx", "convolution"]
    # 6 channels of 3 x 3 x 3 products at 8 x 8 places; weights and biases
    assert [(model.macs, model.parameters) for model in loaded] == [(6 * 27 * 64, 6 * 28)] * 3
    assert loaded[0].operators["operator"].count("conv2d") == 1


def test_seeds_are_those_of_random_weights() -> None:
    one, other = (tandem.load("dqn-tiny", seed=seed).read.proto for seed in (1, 2))
    assert one != other


def test_open_extents(tmp_path: Path) -> None:
    path = convolution(tmp_path / "open.onnx", (1, 3, "h", "w"))
    with pytest.raises(CompilerError, match="h, w could be any number"):
        tandem.load(path)
    by_name = tandem.load(path, shapes={"h": 8, "w": 6})
    by_shape = tandem.load(path, shapes={"image": (1, 3, 8, 6)})
    by_array = tandem.load(path, inputs={"image": np.zeros((1, 3, 8, 6), np.float32)})
    for model in (by_name, by_shape, by_array):
        assert model.inputs["shape"] == ["[1, 3, 8, 6]"]


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        ("digit", {}, ArgumentValueError, "'digit' is neither a model that is built in .*digits"),
        ("no.onnx", {}, FrontendError, "no.onnx: No such file"),
        (3, {}, ArgumentTypeError, "model is 3: it must be a built-in name, a path"),
        ("digits", {"seed": -1}, ArgumentValueError, "seed is -1: it must be 0 or more"),
        ("digits", {"inputs": [1]}, ArgumentTypeError, "inputs is .*a mapping from names of inp"),
        ("digits", {"shapes": {"x": "a"}}, ArgumentTypeError, r"shapes\['x'\] is 'a'|is 'a': it"),
    ],
)
def test_refusals(model: Any, options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tandem.load(model, **options)


class Module:
    """What stands for PyTorch's class, by its names."""


Module.__module__ = "torch.nn.modules.module"


class Net(Module):
    """A module of a user's."""


def fake_torch(monkeypatch: pytest.MonkeyPatch, export: Any) -> None:
    torch, exporter = ModuleType("torch"), ModuleType("torch.onnx")
    vars(exporter)["export"] = export
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.onnx", exporter)


def test_a_module_of_pytorch_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    net, example = Net(), np.zeros((1, 5, 6, 2), np.float32)

    def export(module: object, inputs: tuple[object, ...], path: str) -> None:
        assert module is net
        assert inputs == (example,)
        onnx.save(one_channel(), path)

    fake_torch(monkeypatch, export)
    model = tandem.load(net, inputs=(example,))
    assert (model.name, model.inputs["shape"]) == ("Net", ["[1, 5, 6, 2]"])


def test_pytorch_needs_example_inputs() -> None:
    with pytest.raises(ArgumentTypeError, match=r"inputs is None: .* a tuple of example inputs"):
        tandem.load(Net())


def test_pytorch_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"torch\.nn\.Module needs torch.*: pip install"):
        tandem.load(Net(), inputs=(1,))


def test_what_pytorch_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def export(*_: object) -> None:
        raise RuntimeError("a loop")

    fake_torch(monkeypatch, export)
    with pytest.raises(FrontendError, match="PyTorch cannot export Net: a loop"):
        tandem.load(Net(), inputs=(1,))
