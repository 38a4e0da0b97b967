"""Modules that a test writes, to compile what they hold."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from types import ModuleType

_NUMBERS = count()
_HEAD = """from __future__ import annotations
import numpy as np
from tandem.base.jit import compiled, inlined
"""


def written(folder: Path, text: str) -> ModuleType:
    """The module of `text`, behind some imports, as a new file of `folder`."""
    path = folder / f"written_{next(_NUMBERS)}.py"
    path.write_text(_HEAD + text)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
