"""`--records`: a file of records whose best schedules are taken, and warnings about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tandem.workbench.devices import TargetDevice
from tandem.workbench.recorded_choices import BUILT_IN, best_known

RecordsOption = Annotated[
    str | None,
    typer.Option(
        "--records",
        metavar="FILE|default",
        help="Take the best schedules of this file of `tandem tune`, for this machine and memory; "
        "default: of the records that come with Tandem.",
    ),
]
_OPTIONS = {"threads": "--threads", "memory": "--memory"}


def records_input(records: str | None) -> Path | None:
    """The file of `--records`; None for the records that come with Tandem."""
    return None if records is None or records == BUILT_IN else Path(records)


def with_records(device: TargetDevice, records: str | None) -> TargetDevice:
    """A device with the schedules of `--records`, if it is given."""
    if records is None:
        return device
    return device.with_tuned(best_known(records, device, warn, _OPTIONS))


def warn(text: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"warning: {text}", err=True)
