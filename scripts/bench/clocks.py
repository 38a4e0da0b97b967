"""The clock of each preset: `python -m scripts.bench.clocks` prints the table that ARCHITECTURE.md
shows. A seed of a preset takes some minutes; results are cached.
"""

from __future__ import annotations

from collections.abc import Iterator

from hw.config import HardwareConfig
from hw.config_files import load_config
from hw.rtl.verilog import generate
from hw.synthesis.errors import DoesNotFitError
from hw.synthesis.place import Device, Timing
from scripts.bench import resources
from scripts.timing import DEFAULT_SEEDS, find_timing

DEVICE = Device.ECP5_85
SPEED = 6
EXTENDED = "small8-x"
"""The preset with extensions whose clock is told: the largest that fits the device."""


def configurations() -> Iterator[tuple[str, HardwareConfig]]:
    """Those of the table of resources, by name, and `EXTENDED` behind all."""
    yield from resources.configurations()
    yield EXTENDED, load_config(EXTENDED)


def clock(config: HardwareConfig, quiet: bool = True) -> Timing | DoesNotFitError:
    """The preset's routes, or what the device lacks."""
    try:
        return find_timing(generate(config), DEVICE, SPEED, DEFAULT_SEEDS, quiet)
    except DoesNotFitError as error:
        return error


def row(name: str, config: HardwareConfig, found: Timing | DoesNotFitError) -> str:
    """One row: multipliers of the array; MHz, median and best; the module of the longest path."""
    start = f"| {name} | {config.macs:,} |"
    if isinstance(found, DoesNotFitError):
        return f"{start} needs {found.needed:,} {found.kind}, has {found.available:,} | | |"
    longest = max(found.median.critical_path, key=lambda span: span.ns)
    module = longest.module or "top"
    return f"{start} {found.median.mhz:.1f} | {found.best_mhz:.1f} | `{module}` |"


def main() -> None:
    """Print the table."""
    print(f"| preset | MACs | median of {DEFAULT_SEEDS}, MHz | best, MHz | most of its path in |")
    print("|---|--:|--:|--:|---|")
    for name, config in configurations():
        print(row(name, config, clock(config, quiet=False)), flush=True)


if __name__ == "__main__":
    main()
