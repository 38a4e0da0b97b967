"""The clock of each preset, as the table of docs/resources.md.

`python -m tandem.scripts.bench.clocks` prints it. A seed of a preset takes some minutes; results
are cached.
"""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.errors import DoesNotFitError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.routes import Timing
from tandem.scripts.bench.resources import configurations
from tandem.scripts.timing import find_timing
from tandem.workbench.clock import DEFAULT_SEEDS

DEVICE = Device.ECP5_85
SPEED = 6


def clock(
    config: HardwareConfig, quiet: bool = True, seeds: int = DEFAULT_SEEDS
) -> Timing | DoesNotFitError:
    """The machine's routes, or what the device lacks."""
    try:
        return find_timing(generate(config), DEVICE, SPEED, seeds, quiet)
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
