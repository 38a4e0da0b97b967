"""What a shell offers for the values of options and arguments: names of ours, then files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tandem.hw.config_files import preset_names
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engines import ENGINES


def complete_config(incomplete: str) -> list[str]:
    """Presets, and files of configurations."""
    return [*_starting(preset_names(), incomplete), *_files(incomplete, (".json",))]


def complete_engine(incomplete: str) -> list[str]:
    """Engines."""
    return _starting(ENGINES, incomplete)


def complete_memory(incomplete: str) -> list[str]:
    """Memory models that have names."""
    return _starting(MEMORY_PRESETS, incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Built-in networks, ONNX files and artifacts."""
    # Imported here: it is the only import that takes long, and others need it not.
    from tandem.compiler.models import BUILT_IN

    return [*_starting(BUILT_IN, incomplete), *_files(incomplete, (".onnx", ".tandem"))]


def complete_decoder(incomplete: str) -> list[str]:
    """Built-in decoders, ONNX files and artifacts."""
    from tandem.compiler.models.decoders import DECODERS

    return [*_starting(DECODERS, incomplete), *_files(incomplete, (".onnx", ".tandem"))]


def complete_processor(incomplete: str) -> list[str]:
    """Processors that have names."""
    from tandem.workbench.devices import PROCESSOR_NAMES

    return _starting(PROCESSOR_NAMES, incomplete)


def complete_soc_processor(incomplete: str) -> list[str]:
    """Processors of systems on chip."""
    from tandem.workbench.soc.cores import PROCESSORS

    return _starting(PROCESSORS, incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files with one of the suffixes, and folders, whose paths start with a text.

    A folder that cannot be read has none. A hidden file is offered where its dot was typed.
    """
    folder, _, start = incomplete.rpartition("/")
    root = f"{folder}/" if "/" in incomplete else ""
    found = []
    try:
        entries = sorted(Path(root or ".").iterdir())
    except OSError:
        return []
    for entry in entries:
        if not entry.name.startswith(start) or (entry.name.startswith(".") and not start):
            continue
        if entry.is_dir():
            found.append(f"{root}{entry.name}/")
        elif entry.suffix in suffixes:
            found.append(f"{root}{entry.name}")
    return found
