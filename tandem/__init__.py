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
    from tandem import ir, isa, te
    from tandem.api.accelerator import Accelerator
    from tandem.api.artifact import Artifact
    from tandem.api.checking import Check, check
    from tandem.api.compiling import compile
    from tandem.api.decoder_artifact import DecoderArtifact
    from tandem.api.fpga_reports import Clock, FpgaResources
    from tandem.api.generating import compile_decoder, generate
    from tandem.api.installation import doctor
    from tandem.api.layer_cycles import LayerCycles
    from tandem.api.loading import load
    from tandem.api.measuring import Utilization, utilization
    from tandem.api.model import Model
    from tandem.api.processor import Cpu
    from tandem.api.programs import disassemble, verify
    from tandem.api.run import Run
    from tandem.api.schedule_tuning import Tuning, tune
    from tandem.api.search_result import Search
    from tandem.api.searching import search
    from tandem.api.session import Session
    from tandem.api.simulating import simulate
    from tandem.api.sweeping import Sweep, sweep
    from tandem.api.training import Training, train
    from tandem.api.tuning_records import Records, records
    from tandem.api.verilog_design import Design, verilog
    from tandem.base.errors import Error
    from tandem.workbench.decoders.generated import Generated
    from tandem.workbench.program_proof import Proof
    from tandem.workbench.published.figures import published
    from tandem.workbench.simulation import Simulation
    from tandem.workbench.table import Column, Table

__all__ = [
    "Accelerator",
    "Artifact",
    "Check",
    "Clock",
    "Column",
    "Cpu",
    "DecoderArtifact",
    "Design",
    "Error",
    "FpgaResources",
    "Generated",
    "LayerCycles",
    "Model",
    "Proof",
    "Records",
    "Run",
    "Search",
    "Session",
    "Simulation",
    "Sweep",
    "Table",
    "Training",
    "Tuning",
    "Utilization",
    "check",
    "compile",
    "compile_decoder",
    "disassemble",
    "doctor",
    "generate",
    "ir",
    "isa",
    "load",
    "published",
    "records",
    "search",
    "simulate",
    "sweep",
    "te",
    "train",
    "tune",
    "utilization",
    "verify",
    "verilog",
]

_HOMES: Final = {
    "Accelerator": "tandem.api.accelerator",
    "Artifact": "tandem.api.artifact",
    "Check": "tandem.api.checking",
    "Clock": "tandem.api.fpga_reports",
    "Column": "tandem.workbench.table",
    "Cpu": "tandem.api.processor",
    "DecoderArtifact": "tandem.api.decoder_artifact",
    "Design": "tandem.api.verilog_design",
    "Error": "tandem.base.errors",
    "FpgaResources": "tandem.api.fpga_reports",
    "Generated": "tandem.workbench.decoders.generated",
    "LayerCycles": "tandem.api.layer_cycles",
    "Model": "tandem.api.model",
    "Proof": "tandem.workbench.program_proof",
    "Records": "tandem.api.tuning_records",
    "Run": "tandem.api.run",
    "Search": "tandem.api.search_result",
    "Session": "tandem.api.session",
    "Simulation": "tandem.workbench.simulation",
    "Sweep": "tandem.api.sweeping",
    "Table": "tandem.workbench.table",
    "Training": "tandem.api.training",
    "Tuning": "tandem.api.schedule_tuning",
    "Utilization": "tandem.api.measuring",
    "check": "tandem.api.checking",
    "compile": "tandem.api.compiling",
    "compile_decoder": "tandem.api.generating",
    "doctor": "tandem.api.installation",
    "disassemble": "tandem.api.programs",
    "generate": "tandem.api.generating",
    "load": "tandem.api.loading",
    "published": "tandem.workbench.published.figures",
    "records": "tandem.api.tuning_records",
    "search": "tandem.api.searching",
    "simulate": "tandem.api.simulating",
    "sweep": "tandem.api.sweeping",
    "train": "tandem.api.training",
    "tune": "tandem.api.schedule_tuning",
    "utilization": "tandem.api.measuring",
    "verify": "tandem.api.programs",
    "verilog": "tandem.api.verilog_design",
}
"""The modules of names."""
_MODULES: Final = ("ir", "isa", "te")
"""Modules among the names."""


if not TYPE_CHECKING:  # Type checkers know the names above, and no others.

    def __getattr__(name: str) -> Any:
        """A public name, imported now (PEP 562) and found at once the next time.

        Raises
        ------
        MissingPackageError
            A package that the name needs is not installed.
        """
        try:
            if name in _MODULES:
                value = import_module(f"{__name__}.{name}")
            elif name in _HOMES:
                value = getattr(import_module(_HOMES[name]), name)
            else:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in ("", __name__):
                raise
            from tandem.workbench.errors import MissingPackageError

            raise MissingPackageError(f"{__name__}.{name}", package, "tandem-workbench") from error
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__]
