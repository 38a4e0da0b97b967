"""The labs in one file, `labs.zip` beside their page: what a teacher hands out."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

NAME = "labs.zip"
LINK = f"""
## All six in one file

```{{raw}} html
<p><a class="reference download" href="{NAME}" download>{NAME}</a>: the notebooks as they are handed
out, without solutions.</p>
```
"""
"""The section of the labs' page, at whose address the archive lies."""


def write_labs(labs: Path, destination: Path) -> None:
    """Write the notebooks in the folder `labs` to an archive, the same bytes each time."""
    with ZipFile(destination, "w", ZIP_DEFLATED) as archive:
        for path in sorted(labs.glob("*.ipynb")):
            entry = ZipInfo(f"labs/{path.name}")
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes())
