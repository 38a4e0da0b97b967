"""The charts of a page, with their titles and explanations."""

from __future__ import annotations

from tandem.workbench.pages.charts import Figure
from tandem.workbench.pages.run.causes import cause_bars, cause_totals
from tandem.workbench.pages.run.error_bars import error_bars
from tandem.workbench.pages.run.layer_bars import byte_bars, utilization_bars
from tandem.workbench.pages.run.layer_rows import rows
from tandem.workbench.pages.run.memory_map import memory_map
from tandem.workbench.pages.run.page import Page
from tandem.workbench.pages.run.roofline import layer_runs, roofline


def figures(page: Page) -> tuple[Figure, ...]:
    """The charts for which the run has data, in the order of the page."""
    return (*_times(page), *_errors(page), *_bytes(page), *_memory(page))


def _times(page: Page) -> list[Figure]:
    if not page.has_time:
        return []
    found = rows(page)
    pair = " Of each pair, the upper bar is without latency hiding." if page.without else ""
    charts = [
        Figure(
            "causes-total",
            "Where the cycles went",
            "As seen from compute, on which all results depend: what it was busy with, and what it "
            f"waited for.{pair}",
            cause_totals(found),
            leads=True,
        )
    ]
    if any(each.macs for each in found):
        charts.append(
            Figure(
                "utilisation",
                "Utilisation",
                "Useful multiply-accumulates by those that the array had time for, from the "
                "previous layer's end to the layer's own: loads, stores and ALU included, padding "
                f"not. Layers that multiply nothing are left out.{pair}",
                utilization_bars(found),
            )
        )
    charts.append(
        Figure(
            "causes",
            "Where the cycles of each layer went",
            f"What compute was busy with, and what it waited for.{pair}",
            cause_bars(found),
        )
    )
    if roof := roofline(layer_runs(found), page.config.macs, page.bytes_per_cycle):
        charts.append(
            Figure(
                "roofline",
                "Roofline",
                "The line is the best that this machine can do: on its slope the bus is the "
                "limit, where it is flat the multipliers are. Reads and writes have a channel "
                "each; the busier one counts. A point is a layer, as large as the cycles that it "
                "takes; the further below the line, the more is left to gain. Above the slope are "
                "layers whose data came while the layer before them still computed."
                + (" A thin line joins a layer without latency hiding and with it." * bool(pair)),
                roof,
            )
        )
    return charts


def _errors(page: Page) -> list[Figure]:
    losses = page.losses
    bars = None if losses is None else error_bars(losses.in_order)
    if losses is None or bars is None:
        return []
    return [
        Figure(
            "accuracy",
            "Accuracy of each layer",
            f"Signal to noise of each layer against {losses.reference}, {losses.samples}. A bar is "
            "the layer by itself, on float32's inputs rounded to its own scales: the shortest bar "
            "is the layer to look at. The dark tick is the layer with all that it inherits.",
            bars,
        )
    ]


def _bytes(page: Page) -> list[Figure]:
    if not page.layers:
        return []
    return [
        Figure(
            "bytes",
            "Bytes moved",
            f"Data and micro-ops through the bus{' with latency hiding' * bool(page.without)}. The "
            "dark tick is the least: of operands what results need, once, and results once.",
            byte_bars(rows(page)),
        )
    ]


def _memory(page: Page) -> list[Figure]:
    if not page.areas:
        return []
    return [
        Figure(
            "memory",
            "Memory map",
            "What lies where in the accelerator's memory. Areas that overlap are used at different "
            "times. Drag to move, scroll with Shift to zoom, double-click to return.",
            memory_map(page.areas),
        )
    ]
