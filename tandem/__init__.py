"""Tandem: a tensor accelerator, its compiler, its simulators and its runtime, from Python.

    import tandem

    machine = tandem.Accelerator("pynq-x", bus_bits=128)
    artifact = tandem.compile(tandem.load("digits"), machine)
    run = tandem.Session(artifact).run(artifact.noise())
    print(run)
    print(run.layers)

Names are imported when they are used: `import tandem` alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from base.errors import Error
    from compiler import ir, te
    from hw import isa
    from tandem.api.accelerator import Accelerator
    from tandem.api.artifact import Artifact
    from tandem.api.checking import Check, check
    from tandem.api.compiling import compile
    from tandem.api.loading import load
    from tandem.api.measuring import utilization
    from tandem.api.model import Model
    from tandem.api.processor import Cpu
    from tandem.api.run import Run
    from tandem.api.session import Session
    from tandem.api.sweeping import sweep
    from tandem.api.table import Table
    from tandem.api.verilog import verilog

__all__ = [
    "Accelerator",
    "Artifact",
    "Check",
    "Cpu",
    "Error",
    "Model",
    "Run",
    "Session",
    "Table",
    "check",
    "compile",
    "ir",
    "isa",
    "load",
    "sweep",
    "te",
    "utilization",
    "verilog",
]

_HOMES: Final = {
    "Accelerator": "tandem.api.accelerator",
    "Artifact": "tandem.api.artifact",
    "Check": "tandem.api.checking",
    "Cpu": "tandem.api.processor",
    "Error": "base.errors",
    "Model": "tandem.api.model",
    "Run": "tandem.api.run",
    "Session": "tandem.api.session",
    "Table": "tandem.api.table",
    "check": "tandem.api.checking",
    "compile": "tandem.api.compiling",
    "load": "tandem.api.loading",
    "sweep": "tandem.api.sweeping",
    "utilization": "tandem.api.measuring",
    "verilog": "tandem.api.verilog",
}
"""The modules of names."""
_MODULES: Final = {"ir": "compiler.ir", "isa": "hw.isa", "te": "compiler.te"}
"""Modules that have other names here."""


def __getattr__(name: str) -> Any:
    """A public name, imported now (PEP 562) and found at once the next time."""
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
