"""`tandem devices`: what networks can run on here."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table

from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.options import DebugOption, JsonOption
from tandem.scripts.tables import plain_console
from tandem.workbench.devices.listing import listed_devices


def command(as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List what networks can run on here.

    These are the values of --device of `tandem run` and what they stand for; of several devices of
    an option the first is taken.
    """
    with errors_in_one_line(debug):
        devices = [*listed_devices()]
        if as_json:
            print_json({"devices": [asdict(device) for device in devices]})
            return
        table = Table("--device", "name", "", box=None, pad_edge=False)
        for device in devices:
            table.add_row(device.option, device.name or "-", device.detail)
        plain_console().print(table)
