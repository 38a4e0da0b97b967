"""The report of a network's run: one HTML page that works offline."""

from tandem.scripts.page.write import check_page
from tandem.scripts.run.page.page import Area, AreaKind, CpuStep, Page
from tandem.scripts.run.page.write import write_page

__all__ = ["Area", "AreaKind", "CpuStep", "Page", "check_page", "write_page"]
