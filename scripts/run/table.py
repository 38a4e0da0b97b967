"""The report of a run as text: a table of layers, the outputs, and the comparison."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from tandem.runtime.artifact import HOST, config_of
from tandem.scripts.calibration import calibration_warning
from tandem.scripts.engine_comparison import print_comparison
from tandem.scripts.explain import print_reasons, print_round_trips, print_weights
from tandem.scripts.run.accuracy_table import print_accuracy, print_losses
from tandem.scripts.tables import percentage, plain_console, plain_table, print_table, whole_number
from tandem.workbench.outputs import top5
from tandem.workbench.run_report import RunReport
from tandem.workbench.sqnr import show_sqnr
from tandem.workbench.step_operators import short_names


def print_run(report: RunReport, *, explain: bool = False) -> None:
    """Print the report; with `explain`, also why operators are on the CPU."""
    console = plain_console()
    console.print(f"{_header(report)}:")
    console.print()
    print_table(console, _table(report))
    console.print()
    for name, array in report.run.outputs.items():
        classes = top5(array)
        best = "" if classes is None else f", greatest at {', '.join(map(str, classes))}"
        console.print(f"{name}: {array.dtype}{list(array.shape)}{best}")
    if config_of(report.network.artifact) is not None:
        console.print(f"{report.platform.engine}: {_speed(report)}")
        if report.milliseconds is not None:
            console.print(f"accelerator: {report.milliseconds:,.3f} ms at {report.clock}")
    elif report.network.accelerator is not None:
        console.print("nothing of it is for the accelerator: the CPU did it all")
    if report.network.tuned is not None and (
        report.network.accelerator is None or config_of(report.network.artifact) is not None
    ):
        console.print(str(report.network.tuned))
    if report.comparison is not None and report.comparison.equal:
        console.print(
            f"equal to the CPU's, every bit: {report.comparison.elements:,} elements, tensors "
            f"compared: {report.comparison.tensors}"
        )
    if report.engines is not None:
        print_comparison(report.engines)
    if report.sqnr:
        console.print(f"against float32: SQNR {show_sqnr(report.sqnr)}")
    if report.losses is not None:
        print_losses(console, report.losses, report.formats)
    if report.accuracy is not None:
        print_accuracy(console, report.accuracy)
    warning = calibration_warning(report.network.artifact.manifest.provenance)
    if warning is not None:
        console.print()
        console.print(f"warning: {warning}")
    if explain:
        print_reasons(report.network.artifact.manifest)
        print_weights(report.network.artifact.manifest)
        print_round_trips(report.round_trips)


def _header(report: RunReport) -> str:
    """The heading: the network, and the settings that its figures depend on."""
    parts = [report.network.model]
    config = config_of(report.network.artifact)
    if config is not None:
        parts[0] += f" on {config.name}"
        parts.append(f"engine {report.platform.engine}")
        parts += [f"memory {report.memory}"] if report.run.profile.cycles is not None else []
    parts += [f"{report.batches} batches"] if report.batches > 1 else []
    return ", ".join(parts)


def _speed(report: RunReport) -> str:
    seconds = report.simulated_seconds
    taken = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
    speed = report.cycles_per_second
    if speed is None:
        return taken
    return f"{report.run.profile.cycles:,} cycles in {taken}, {speed:,.0f} a second"


def _table(report: RunReport) -> Table:
    """A row for each layer and step, and the total.

    A table with cycles has no column for the device: a layer of the accelerator has cycles, and a
    step of the CPU has milliseconds. Milliseconds are the CPU's unless a step is on another device.
    """
    rows = report.rows
    timed = any(row.cycles is not None for row in rows)
    paired = any(row.cycles_without_hiding is not None for row in rows)
    texts = ["layer", "operators"] + ([] if timed else ["device"])
    numbers = ["MACs"] + (["without\nhiding"] if paired else [])
    numbers += ["cycles", "util."] if timed else []
    elsewhere = any(row.seconds is not None and row.device != HOST for row in rows)
    table = plain_table(texts, [*numbers, "ms" if elsewhere else "CPU\nms"])

    def add(
        texts: Sequence[str],
        macs: int,
        without: int | None,
        cycles: int | None,
        utilization: float | None,
        seconds: float | None,
    ) -> None:
        cells = [whole_number(without)] if paired else []
        cells += [whole_number(cycles), percentage(utilization)] if timed else []
        milliseconds = "" if seconds is None else f"{seconds * 1e3:.3f}"
        table.add_row(*texts[: 2 if timed else 3], whole_number(macs or None), *cells, milliseconds)

    for row in rows:
        add(
            (row.name, short_names(row.operators), row.device),
            row.macs,
            row.cycles_without_hiding,
            row.cycles,
            row.utilization,
            row.seconds,
        )
    add(
        ("total", "", ""),
        sum(row.macs for row in rows),
        sum(row.cycles_without_hiding or 0 for row in rows),
        report.run.profile.cycles,
        report.utilization,
        sum(row.seconds or 0 for row in rows),
    )
    return table
