"""The FPGA resources of each preset, as the table of docs/resources.md.

`python -m tandem.scripts.bench.resources` prints it. Synthesis of all presets takes half an hour;
results are cached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config, preset_names
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.resources import Resources
from tandem.scripts.options import DEFAULT_CONFIG
from tandem.scripts.resources import DEFAULT_FAMILIES, find_resources

UNITS = ("lut", "ff", "dsp", "bram")


def configurations() -> Iterator[tuple[str, HardwareConfig]]:
    """The presets without extensions by name, smallest first, and the default with one read port of
    ACC; what extensions cost is in the table of `scripts.bench.extensions`."""
    presets = [config for config in map(load_config, preset_names()) if not config.features]
    for config in sorted(presets, key=lambda config: (config.macs, config.name)):
        yield config.name, config
        if config.name == DEFAULT_CONFIG:
            yield f"{config.name}, `acc_read_ports` 1", config.replace(acc_read_ports=1)


def row(name: str, config: HardwareConfig, found: Sequence[Resources]) -> str:
    """One row: multipliers of the array, then each family's LUT, FF, DSP and block RAM."""
    amounts = [f"{getattr(resources, unit):,}" for resources in found for unit in UNITS]
    return f"| {name} | {config.macs:,} | " + " | ".join(amounts) + " |"


def main() -> None:
    """Print the table."""
    columns = [f"{family.value} {unit.upper()}" for family in DEFAULT_FAMILIES for unit in UNITS]
    print("| preset | MACs | " + " | ".join(columns) + " |")
    print("|---" + "|--:" * (1 + len(columns)) + "|")
    for name, config in configurations():
        found = find_resources(generate(config), DEFAULT_FAMILIES, quiet=False)
        print(row(name, config, found), flush=True)


if __name__ == "__main__":
    main()
