"""`--report` and `--trace`: the HTML page and the timeline of a run, as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tandem.base.files import check_destination
from tandem.runtime.executor import Run
from tandem.scripts.calibration import calibration_warning
from tandem.scripts.command_line import command_line
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import DeviceName
from tandem.sim.trace import write_timeline
from tandem.workbench.run_report import RunReport
from tandem.workbench.why import labels_of

TIMELESS = "functional"
"""The engine that counts no cycles."""


@dataclass(frozen=True, slots=True)
class ProfileFiles:
    """Paths of the page and of the timeline; None for one that is not written."""

    report: Path | None
    trace: Path | None

    def check(self, device: DeviceName, engine: str) -> None:
        """Check before the run that the files can be written (`CommandError`, `OSError`)."""
        for option, path, suffix in (
            ("--report", self.report, ".html"),
            ("--trace", self.trace, ".json"),
        ):
            if path is None:
                continue
            if path.suffix != suffix:
                raise CommandError(f"{path}: {option} writes a file that ends in {suffix}")
            if device is not DeviceName.ACCELERATOR:
                raise CommandError(
                    f"{option} shows the accelerator: not with --device {device.value}"
                )
            check_destination(path)
        if self.report is not None:
            # Pages are imported where one is wanted: without, a run starts sooner.
            from tandem.workbench.pages.run import check_page

            check_page(self.report)
        if self.trace is not None and engine == TIMELESS:
            raise CommandError(f"--trace needs cycles: the {engine} engine has no time")

    @property
    def options(self) -> list[str]:
        """The options that were given: `--report`, `--trace`."""
        paths = (("--report", self.report), ("--trace", self.trace))
        return [option for option, path in paths if path is not None]

    @property
    def written(self) -> list[str]:
        """A line for each file: its path, and what it is."""
        kinds = ((self.report, "open it in a browser"), (self.trace, "open it in ui.perfetto.dev"))
        return [f"{path}: {kind}" for path, kind in kinds if path is not None]

    def write_trace(self, run: Run) -> None:
        """Write the timeline of the longest stream, if there is a path for it.

        The run has at least one stream: `check_offloaded` raises for networks without one.
        """
        if self.trace is None:
            return
        longest = max(run.profile.streams, key=lambda stream: stream.result.cycles or 0)
        write_timeline(self.trace, longest.result, longest.program, labels_of(longest))

    def write_page(self, report: RunReport) -> None:
        """Write the page, if there is a path for it. The run must have a stream."""
        if self.report is None:
            return
        warning = calibration_warning(report.network.artifact.manifest.provenance)
        from tandem.workbench.pages.run import run_page, write_page

        write_page(run_page(report, command_line(), warning), self.report)
