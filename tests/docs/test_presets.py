"""The tables of `docs/presets.md` are those of the presets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tandem.hw.config_files import load_config, preset_names
from tandem.hw.features import Feature
from tandem.hw.memory_model import MEMORY_PRESETS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "presets.md").read_text()

COLUMNS = ("INP", "WGT", "ACC", "OUT", "UOP", "PAR")


def machines() -> Iterator[str]:
    for preset in preset_names():
        config = load_config(preset)
        sizes = {
            memory.name: config.depth(memory) * config.element_bytes(memory)
            for memory in config.memories
        }
        kib = [f"{sizes[name] / 1024:g}" if name in sizes else "-" for name in COLUMNS]
        array = f"{config.batch} x {config.block_in} x {config.block_out}"
        extensions = "yes" if config.features else "-"
        if Feature.COMPRESSED_WEIGHTS in config.features:
            extensions += ", and weights"
        cells = (f"`{preset}`", array, str(config.macs), *kib, str(config.bus_bits), extensions)
        yield f"| {' | '.join(cells)} |"


def memories() -> Iterator[str]:
    for name, model in MEMORY_PRESETS.items():
        yield f"| `{name}` | {model.latency} | {model.interval} | {model.in_flight} |"


def test_machines_and_memories() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert rows == [*machines(), *memories()]
