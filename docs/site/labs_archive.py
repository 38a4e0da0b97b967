"""The labs in one file beside their page: what a teacher hands out, and the same filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NAME: Final = "labs.zip"
SOLVED: Final = "labs-solved.zip"
LINK: Final = f"""
## All six in one file

```{{raw}} html
<p><a class="reference download" href="{NAME}" download>{NAME}</a>: the notebooks as they are handed
out, without solutions.
<a class="reference download" href="{SOLVED}" download>{SOLVED}</a>: with the solutions in them.</p>
```
"""
"""The section of the labs' page, at whose address the archives lie."""
_SECTION: Final = re.compile(r"^# %% (\w+)\n", re.MULTILINE)


def write_labs(labs: Path, folder: Path) -> None:
    """Write both archives of the notebooks in `labs`, the same bytes each time."""
    _write(folder / NAME, labs, lambda path: path.read_text())
    _write(folder / SOLVED, labs, lambda path: _solved(path, labs / "solutions"))


def solutions(path: Path) -> dict[str, str]:
    """The code of a lab's solutions, by the names of the exercises."""
    _, *parts = _SECTION.split(path.read_text())
    return {name: code.strip("\n") for name, code in zip(parts[::2], parts[1::2], strict=True)}


def _solved(path: Path, answers: Path) -> str:
    notebook: dict[str, Any] = json.loads(path.read_text())
    found = solutions(answers / f"{path.stem}.py")
    for cell in notebook["cells"]:
        if "exercise" in cell["metadata"]:
            cell["source"] = found[cell["metadata"]["exercise"]]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _write(destination: Path, labs: Path, content: Callable[[Path], str]) -> None:
    with ZipFile(destination, "w", ZIP_DEFLATED) as archive:
        for path in sorted(labs.glob("*.ipynb")):
            entry = ZipInfo(f"labs/{path.name}")
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content(path))
