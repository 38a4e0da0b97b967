"""Options that several commands share, as annotated types."""

from __future__ import annotations

from typing import Annotated

import typer

from tandem.hw.config_files import preset_names
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.scripts.completion import complete_config, complete_engine, complete_memory

CONFIGS = f"a preset ({', '.join(preset_names())}), or a JSON file (TVM's vta_config.json too)"
"""What can be a configuration, for the help of commands."""
MEMORIES = ", ".join(
    f"{name} ({model.latency} cycles to the first beat, {model.interval} from beat to beat)"
    for name, model in MEMORY_PRESETS.items()
)
"""The memory models that have names, for the help of commands."""
DEFAULT_CONFIG = "pynq"
DEFAULT_ENGINE = "cycle"
DEFAULT_MEMORY = "fast"

ConfigOption = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="NAME|FILE",
        autocompletion=complete_config,
        help=f"Hardware configuration: {CONFIGS}.",
    ),
]
ArtifactConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="NAME|FILE",
        autocompletion=complete_config,
        help=f"Hardware configuration: {CONFIGS} (default: {DEFAULT_CONFIG}, or an "
        "artifact's own).",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        autocompletion=complete_engine,
        help="Simulator: cycle, rtl, pysim, or functional, which has no time.",
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="MODEL",
        autocompletion=complete_memory,
        help=f"Memory model: {MEMORIES}, or some of latency=N interval=N in_flight=N, joined by "
        "commas.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="Processes that measure (default: one a core)."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Measure on the workers of this Dask cluster instead (tcp://HOST:8786); they have the "
        "same version of Tandem.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, help="Seed of everything random."),
]
ExplainOption = Annotated[
    bool,
    typer.Option("--explain", help="Print why each operator on the CPU is not on the accelerator."),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object on standard output, and nothing else."),
]
DebugOption = Annotated[
    bool,
    typer.Option("--debug", help="Print a traceback when something fails."),
]


def parse_number(text: str) -> int:
    """A number of 0 or more, decimal or with 0x."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise typer.BadParameter(f"{text!r} is no number of 0 or more, such as 4096 or 0x1000")
    return value


def parse_byte(text: str) -> int:
    """A byte in hexadecimal, with 0x or without."""
    try:
        value = int(text, 16)
    except ValueError:
        value = -1
    if not 0 <= value <= 0xFF:
        raise typer.BadParameter(f"{text!r} is no byte in hexadecimal, 00..ff")
    return value
