"""A run as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from scripts.run.outputs import top5
from scripts.run.told import Told
from scripts.wide import wide_console

__all__ = ["print_run"]


def print_run(told: Told) -> None:
    """A row for each layer and step, what each output is, and how the comparison came out."""
    table = _rows(told)
    console = wide_console(table)
    config = told.network.artifact.config
    on = "" if config is None else f" on {config.name}, engine {told.machine.engine}"
    console.print(f"{told.network.model}{on}:")
    console.print()
    console.print(table)
    console.print()
    for name, array in told.run.outputs.items():
        classes = top5(array)
        best = "" if classes is None else f", greatest at {', '.join(map(str, classes))}"
        console.print(f"{name}: {array.dtype}{list(array.shape)}{best}")
    speed = told.cycles_per_second
    if speed is not None:
        console.print(
            f"{told.machine.engine}: {told.run.profile.cycles:,} cycles in "
            f"{told.simulated_seconds:.1f} s, {speed:,.0f} a second"
        )
    if told.comparison is not None and told.comparison.equal:
        console.print(
            f"equal to the CPU's, every bit: {told.comparison.elements:,} elements, tensors "
            f"compared: {told.comparison.tensors}"
        )


def _rows(told: Told) -> Table:
    network, rows = told.network, told.rows
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("layer", "operators", "device"):
        table.add_column(name, no_wrap=True)
    timed = any(each.cycles is not None for each in rows)
    paired = any(each.without is not None for each in rows)
    columns = ["MACs"]
    columns += ["without hiding"] if paired else []
    columns += ["cycles", "utilisation"] if timed else []
    for name in (*columns, "ms"):
        table.add_column(name, justify="right", no_wrap=True)

    def add(name: str, operators: str, device: str, macs: int, *rest: str) -> None:
        table.add_row(name, operators, device, f"{macs:,}" if macs else "", *rest)

    for each in rows:
        cells = [_whole(each.without)] if paired else []
        cells += [_whole(each.cycles), _share(each.utilization)] if timed else []
        cells.append("" if each.seconds is None else f"{each.seconds * 1e3:.3f}")
        add(each.name, _short(each.operators), each.device, each.macs, *cells)
    macs = sum(each.macs for each in rows)
    cycles, config = told.run.profile.cycles, network.artifact.config
    share = None if config is None or not cycles else macs / (cycles * config.macs)
    cells = [_whole(sum(each.without or 0 for each in rows))] if paired else []
    cells += [_whole(cycles), _share(share)] if timed else []
    add("total", "", "", macs, *cells, f"{told.run.profile.seconds * 1e3:.3f}")
    return table


def _short(operators: Sequence[str]) -> str:
    """The first one, and how many there are beside it: the JSON has all."""
    rest = f" +{len(operators) - 1}" if len(operators) > 1 else ""
    return f"{operators[0]}{rest}" if operators else ""


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
