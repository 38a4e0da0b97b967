"""Pages rendered by a browser: headless Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MESSAGE = re.compile(r"^\[[^]]*:CONSOLE[:(][^]]*\] (.*)$", re.MULTILINE)
_TIMEOUT = 120


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts have run: the document as HTML, and the console messages."""

    document: str
    console: tuple[str, ...]


def find_chromium() -> str | None:
    """The path of Chromium; None if it is not installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def show(chromium: str, page: Path, profile: Path, width: int = 1200) -> RenderedPage:
    """Open a file in headless Chromium without network access.

    Parameters
    ----------
    profile
        Folder of the browser's profile.
    width
        Width of the window in pixels.
    """
    command = [
        chromium,
        "--headless",
        # Chromium's sandbox refuses to run as root, which is the user in containers.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        f"--window-size={width},1000",
        # With virtual time, Chromium waits for the scripts only.
        "--virtual-time-budget=30000",
        "--enable-logging=stderr",
        "--dump-dom",
        page.absolute().as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=True)
    return RenderedPage(done.stdout, tuple(_MESSAGE.findall(done.stderr)))


def charts(document: str) -> dict[str, str]:
    """What was drawn, by the chart's name."""
    pattern = r'<div class="chart[^>]*data-spec="spec-([\w-]+)".*?<svg[^>]*class="marks"(.*?)</svg>'
    return dict(re.findall(pattern, document, re.DOTALL))


def marks(drawing: str) -> int:
    """How many things a chart shows, its axes and grids not counted."""
    groups = re.findall(r'<g class="mark-\w+ role-mark[^>]*>(.*?)</g>', drawing, re.DOTALL)
    return sum(len(re.findall("<(?:path|text|rect) ", each)) for each in groups)
