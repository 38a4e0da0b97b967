"""The network `digits`, quantised and compiled once for all tests of a process."""

from __future__ import annotations

from functools import cache
from typing import Any

import tandem
from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.workbench.models import ModelOptions, import_model

OPTIONS = ModelOptions()
"""The options of a command that names none."""


@cache
def prepared_digits() -> PreparedNetwork:
    """The network, to be built for a machine."""
    return import_model("digits", OPTIONS, None).prepared(None)


@cache
def digits(machine: str | tandem.Cpu, **options: Any) -> tandem.Artifact:
    """The network compiled for a machine, with what else `tandem.compile` takes."""
    return tandem.compile("digits", machine, **options)
