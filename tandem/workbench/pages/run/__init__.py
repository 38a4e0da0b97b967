"""The report of a network's run: one HTML page that works offline."""

from tandem.workbench.pages.run.of_report import run_page
from tandem.workbench.pages.run.page import Area, AreaKind, CpuStep, Page
from tandem.workbench.pages.write import check_page, write_page

__all__ = ["Area", "AreaKind", "CpuStep", "Page", "check_page", "run_page", "write_page"]
