"""Every built-in network on the accelerator: `python -m tandem.scripts.bench.networks [MODEL...]`.

Measures the models that are named, by default all that are built in, and keeps their figures in
`--figures`, one network after the other, so that a later run may measure some of them again. Prints
the table of all figures in the file, as docs/networks.md shows it; `--plot` draws them: the time of
the accelerator at `CLOCK_MHZ`, next to that of this processor alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tandem.base.files import write_atomically
from tandem.compiler.models import BUILT_IN
from tandem.scripts.bench.network_figures import (
    MACHINES,
    ROUNDS,
    Figures,
    measure,
    read_figures,
    write_figures,
)
from tandem.workbench.models import model_file

CLOCK_MHZ: Final = 100.0
"""The clock of the picture: VTA's on its smallest board (Chen et al., OSDI'18)."""
FIGURES: Final = Path("docs/networks.json")
_PLOTTED: Final = "pynq-x"


def table(figures: Mapping[str, Figures]) -> Iterator[str]:
    """The lines of a table in Markdown, a row for each network.

    Products on the accelerator, launches and the CPU's part are those of the last machine.
    """
    heads = ["network", "products", "on the array"]
    for machine in MACHINES:
        heads += [f"cycles, `{machine}`", "utilisation"]
    heads += ["launches", "CPU kernels", "CPU's part, ms", "CPU alone, ms", "SQNR, dB"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" + "|--:" * (len(heads) - 1) + "|"
    for name, found in figures.items():
        last = found.machines[MACHINES[-1]]
        cells = [f"`{name}`", f"{found.products:,}", f"{last.products / found.products:.1%}"]
        for machine in MACHINES:
            on = found.machines[machine]
            cells += [f"{on.cycles:,}", f"{on.utilization:.1%}"]
        cells += [str(last.launches), str(last.steps)]
        cells += [f"{1e3 * seconds:.2f}" for seconds in (last.seconds, found.seconds)]
        yield f"| {' | '.join([*cells, f'{found.sqnr:.1f}'])} |"


def bars(figures: Mapping[str, Figures]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Of each network that has a standard size: milliseconds by what takes them."""
    for name, found in figures.items():
        if name.endswith("-tiny"):
            continue
        on = found.machines[_PLOTTED]
        array = on.cycles / (CLOCK_MHZ * 1e3)
        yield (
            name,
            {
                f"{_PLOTTED} at {CLOCK_MHZ:.0f} MHz, with its CPU": array + 1e3 * on.seconds,
                "of this its CPU": 1e3 * on.seconds,
                f"{found.processor} alone": 1e3 * found.seconds,
            },
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw; 1 if a network's results are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.bench.networks")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="(default: all built in)")
    parser.add_argument("--figures", type=Path, default=FIGURES, metavar="FILE.json")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    asked = parser.parse_args(arguments)
    models = asked.models or list(BUILT_IN)
    figures = read_figures(asked.figures)
    if not asked.show:
        for model in models:
            name = model if model in BUILT_IN else model_file(model).stem
            print(f"measuring {name}", file=sys.stderr, flush=True)
            figures[name] = measure(model, rounds=asked.rounds)
            write_figures(asked.figures, figures, dict.fromkeys([*BUILT_IN, *figures]))
    for line in table(read_figures(asked.figures)):
        print(line)
    if asked.plot is not None:
        # Imported here, because Altair is large and optional.
        from tandem.scripts.bench.network_bars import draw

        write_atomically(asked.plot, draw(list(bars(read_figures(asked.figures)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
