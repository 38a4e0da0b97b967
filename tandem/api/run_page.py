"""The page of a run: what is measured for it, beside the run itself."""

from __future__ import annotations

from dataclasses import replace

import tandem.runtime.executor as executor
from tandem.api.progress import Steps
from tandem.api.samples import Arrays
from tandem.runtime.joined import join_runs
from tandem.workbench.accuracy import layer_losses
from tandem.workbench.run_report import RunReport
from tandem.workbench.why import explain_run


def with_measurements(
    report: RunReport,
    batches: tuple[Arrays, ...],
    runs: tuple[executor.Run, ...],
    steps: Steps,
    *,
    losses: bool,
) -> RunReport:
    """The report of a run with all that its page shows.

    A network that was compiled from a model runs once more without latency hiding. The causes of
    cycles are those of the first batch.

    Parameters
    ----------
    losses
        Whether the errors of layers are measured; the network must be quantised, and of a model.
    """
    network, platform = report.network, report.platform
    if losses:
        found = layer_losses(network, batches, steps.say, of_noise=False)
        report = replace(report, losses=found)
    if report.run.profile.cycles is None:
        return report
    report = replace(report, reasons=explain_run(runs[0], platform.memory))
    accelerator = network.accelerator
    if network.prepared is None or accelerator is None or not accelerator.hiding:
        return report
    plain = network.without_hiding(steps.say)
    return replace(report, without_hiding=join_runs(platform.run(plain, batches, steps.at)))
