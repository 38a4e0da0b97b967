"""Options that several verbs share, as annotated types."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "DEFAULT_CONFIG",
    "DEFAULT_ENGINE",
    "DEFAULT_MEMORY",
    "ConfigOption",
    "DebugOption",
    "EngineOption",
    "JsonOption",
    "MemoryOption",
    "SeedOption",
]

DEFAULT_CONFIG = "pynq"
DEFAULT_ENGINE = "functional"
DEFAULT_MEMORY = "fast"

ConfigOption = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="NAME|FILE",
        help="Hardware configuration: a preset, or a JSON file (TVM's vta_config.json too).",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option("--engine", metavar="NAME", help="Simulator: functional, rtl or pysim."),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="MODEL",
        help="Memory model: fast, ddr, edge, or latency=N,interval=N,in_flight=N.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, help="Seed of everything random."),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object on standard output, and nothing else."),
]
DebugOption = Annotated[
    bool,
    typer.Option("--debug", help="Print a traceback when something fails."),
]
