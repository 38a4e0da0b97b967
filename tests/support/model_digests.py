"""The digests of ONNX files in a folder: compiled for every preset, and for the CPU alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.errors import CompilerError
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.memory_model import parse_memory
from tandem.workbench.devices import Accelerator, Cpu
from tandem.workbench.models import ModelOptions, import_model
from tandem.workbench.platform import Platform
from tests.support.digest_cases import Case, Digests, of_artifact, with_machine_code

_MEMORY = parse_memory("fast")
_MACHINE = Platform("cycle", _MEMORY, threads=1)
"""Its results are the functional engine's."""


def model_cases(folder: Path) -> Iterator[Case]:
    """The cases of a folder, model by model: `models/NAME/PRESET`, for every preset, `fallback`,
    which is the quantised network on the CPU, and `cpu`, the network in float32.

    Raises
    ------
    FileNotFoundError
        The folder has no ONNX files.
    """
    paths = sorted(folder.glob("*.onnx"))
    if not paths:
        raise FileNotFoundError(f"{folder} has no ONNX files")
    for path in paths:
        # One for all cases of a file, and freed after them.
        model = _Model(path)
        for preset in preset_names():
            yield model.case(preset, partial(model.on_preset, preset))
        yield model.case("fallback", model.fallback)
        yield model.case("cpu", model.on_cpu)


@dataclass(frozen=True)
class _Model:
    """An ONNX file. It is quantised once for all accelerators."""

    path: Path

    @cached_property
    def quantised(self) -> PreparedNetwork:
        return self._prepared(Mode.MULTIPLIER)

    def case(self, way: str, digests: Callable[[], Digests]) -> Case:
        return Case(f"models/{self.path.stem}/{way}", partial(_or_refused, digests))

    def on_preset(self, preset: str) -> Digests:
        device = _accelerator(preset)
        return of_artifact(self.quantised.build(device.targets()), _MACHINE)

    def fallback(self) -> Digests:
        device = _accelerator("pynq")
        return with_machine_code(self.quantised.build(device.targets(), fallback=True))

    def on_cpu(self) -> Digests:
        return with_machine_code(self._prepared(None).build(Cpu().targets()))

    def _prepared(self, quantise: Mode | None) -> PreparedNetwork:
        options = ModelOptions(quantise)
        return import_model(str(self.path), options, None).prepared(None)


def _or_refused(digests: Callable[[], Digests]) -> Digests:
    """The digests, or why the compiler refuses the network."""
    try:
        return digests()
    except CompilerError as error:
        return {"refused": f"{type(error).__name__} {error}"}


def _accelerator(preset: str) -> Accelerator:
    return Accelerator(load_config(preset), _MEMORY, hiding=True)
