"""The structures of `tandem.h` are those that Python describes: sizes, offsets, order of fields."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from tandem.runtime.c_platform import FaultRecord, Machine, Platform, Stream
from tests.support.runtime.c_runtime import FLAGS, SOURCES

STRUCTURES = {
    "tandem_platform": Platform,
    "tandem_stream": Stream,
    "tandem_fault": FaultRecord,
    "tandem": Machine,
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_layout(tmp_path: Path, name: str) -> None:
    structure = STRUCTURES[name]
    fields = [field[0] for field in structure._fields_]
    prints = "".join(
        f'    printf("%zu %zu\\n", offsetof(struct {name}, {field}), '
        f"sizeof ((struct {name} *)0)->{field});\n"
        for field in fields
    )
    (tmp_path / "print.c").write_text(
        f'#include "tandem.h"\n#include <stdio.h>\nint main(void)\n{{\n{prints}'
        f'    printf("%zu\\n", sizeof(struct {name}));\n    return 0;\n}}\n'
    )
    program = tmp_path / "print"
    command = ["cc", *FLAGS, "-I", str(SOURCES), "-o", str(program), str(tmp_path / "print.c")]
    subprocess.run(command, check=True)
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    *lines, size = printed.splitlines()
    wanted = [getattr(structure, field) for field in fields]
    assert lines == [f"{each.offset} {each.size}" for each in wanted]
    assert int(size) == ctypes.sizeof(structure)
    # As many fields as the header has: a field that Python left out would move no other at the end.
    header = (SOURCES / "tandem.h").read_text()
    body = header.partition(f"struct {name} {{\n")[2].partition("\n};")[0]
    assert re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).count(";") == len(fields)
