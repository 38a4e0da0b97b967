"""The files of a design as a table: modules and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tandem.hw.rtl.verilog import VerilogDesign
from tandem.workbench.ip.names import FILE_LIST

_MODULE = re.compile(r"^\s*module\s+\\?(\S+?)\s*(?:\(|;|$)")
_END_OF_MODULE = re.compile(r"^\s*endmodule\b")


def module_lines(text: str) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each module in a Verilog file, in the file's order."""
    name, start = None, 0
    for number, line in enumerate(text.splitlines()):
        if name is None:
            if match := _MODULE.match(line):
                name, start = match[1], number
        elif _END_OF_MODULE.match(line):
            yield name, number - start + 1
            name = None


def print_files(folder: Path, design: VerilogDesign, extras: dict[str, str | bytes]) -> None:
    """Print the files of a design by modules, and what was written beside them."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("file", "module"):
        table.add_column(column, overflow="fold")
    table.add_column("lines", justify="right")
    for name, text in design.files.items():
        for count, (module, lines) in enumerate(module_lines(text)):
            table.add_row("" if count else name, module, f"{lines:,}")
    for name, content in extras.items():
        length = f"{len(content.splitlines()):,}" if isinstance(content, str) else ""
        table.add_row(name, "", length)
    console = Console(highlight=False)
    console.print(table)
    total = sum(len(text.splitlines()) for text in design.files.values())
    console.print(
        f"{len(design.files)} Verilog files, {total:,} lines, {len(design.modules)} modules: "
        f"{folder / FILE_LIST}",
        soft_wrap=True,
    )
