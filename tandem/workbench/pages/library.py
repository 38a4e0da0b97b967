"""The JavaScript library of the charts, as text to embed in a page."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import altair as alt
import vl_convert

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.workbench.errors import PageError

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_FILE = "charts.js"


def chart_library(root: Path | None = None) -> str:
    """A JavaScript bundle of Vega, Vega-Lite and vega-embed, which defines `window.vegaEmbed`.

    The versions are those of Altair. Bundling takes seconds, so the result is cached under `root`
    (default: the user's cache).

    Raises
    ------
    PageError
        If the bundle cannot be embedded in a page.
    tandem.base.errors.CacheError
        If the cache cannot be used.
    """
    wanted = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    cache = ContentCache((root or default_cache()) / "charts")

    def build(folder: Path) -> list[Path]:
        file = folder / _FILE
        file.write_text(vl_convert.javascript_bundle(_SNIPPET, vl_version=wanted), "utf-8")
        return [file]

    key = content_key(version("vl-convert-python"), wanted, _SNIPPET)
    text = (cache.entry(key, build) / _FILE).read_text("utf-8")
    # These strings would end the script element or change its parsing.
    for mark in ("</script", "<!--"):
        if mark in text.lower():
            raise PageError(f"report: the charts' library has {mark} in it, which ends a script")
    return text
