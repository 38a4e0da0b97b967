"""A run as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from scripts.explain import print_reasons
from scripts.run.outputs import top5
from scripts.run.sqnr import show_sqnr
from scripts.run.told import Told
from scripts.wide import wide_console

__all__ = ["print_run"]


def print_run(told: Told, *, explain: bool = False) -> None:
    """A row for each layer and step, what each output is, and how the comparison came out; with
    `explain`, why the CPU does what it does."""
    table = _rows(told)
    console = wide_console(table)
    console.print(f"{_header(told)}:")
    console.print()
    console.print(table)
    console.print()
    for name, array in told.run.outputs.items():
        classes = top5(array)
        best = "" if classes is None else f", greatest at {', '.join(map(str, classes))}"
        console.print(f"{name}: {array.dtype}{list(array.shape)}{best}")
    if told.network.artifact.config is not None:
        console.print(f"{told.machine.engine}: {_speed(told)}")
    elif told.network.accelerator is not None:
        console.print("nothing of it is for the accelerator: the CPU did it all")
    if told.comparison is not None and told.comparison.equal:
        console.print(
            f"equal to the CPU's, every bit: {told.comparison.elements:,} elements, tensors "
            f"compared: {told.comparison.tensors}"
        )
    if told.sqnr:
        console.print(f"against float32: SQNR {show_sqnr(told.sqnr)}")
    if explain:
        steps = (each for each in told.run.profile.steps if each.run is None)
        print_reasons([(each.operators, each.reason) for each in steps])


def _header(told: Told) -> str:
    """The network, and what its figures depend on."""
    parts = [told.network.model]
    config = told.network.artifact.config
    if config is not None:
        parts[0] += f" on {config.name}"
        parts.append(f"engine {told.machine.engine}")
        parts += [f"memory {told.memory}"] if told.run.profile.cycles is not None else []
    parts += [f"{told.batches} batches"] if told.batches > 1 else []
    return ", ".join(parts)


def _speed(told: Told) -> str:
    seconds = told.simulated_seconds
    taken = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
    speed = told.cycles_per_second
    if speed is None:
        return taken
    return f"{told.run.profile.cycles:,} cycles in {taken}, {speed:,.0f} a second"


def _rows(told: Told) -> Table:
    rows = told.rows
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("layer", "operators", "device"):
        table.add_column(name, no_wrap=True)
    timed = any(each.cycles is not None for each in rows)
    paired = any(each.without is not None for each in rows)
    columns = ["MACs"]
    columns += ["without hiding"] if paired else []
    columns += ["cycles", "utilisation"] if timed else []
    for name in (*columns, "CPU ms"):
        table.add_column(name, justify="right", no_wrap=True)

    def add(name: str, operators: str, device: str, macs: int, *rest: str) -> None:
        table.add_row(name, operators, device, f"{macs:,}" if macs else "", *rest)

    for each in rows:
        cells = [_whole(each.without)] if paired else []
        cells += [_whole(each.cycles), _share(each.utilization)] if timed else []
        cells.append("" if each.seconds is None else f"{each.seconds * 1e3:.3f}")
        add(each.name, _short(each.operators), each.device, each.macs, *cells)
    macs = sum(each.macs for each in rows)
    cells = [_whole(sum(each.without or 0 for each in rows))] if paired else []
    cells += [_whole(told.run.profile.cycles), _share(told.utilization)] if timed else []
    seconds = sum(each.seconds or 0 for each in rows)
    add("total", "", "", macs, *cells, f"{seconds * 1e3:.3f}")
    return table


def _short(operators: Sequence[str]) -> str:
    """The first one, and how many there are beside it: the JSON has all."""
    rest = f" +{len(operators) - 1}" if len(operators) > 1 else ""
    return f"{operators[0]}{rest}" if operators else ""


def _whole(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
