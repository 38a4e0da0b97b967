"""What FuseSoC's generator does: a machine's folder, as its parameters say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tandem.hw.config_files import load_config
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.ip.constraints import DEFAULT_MHZ
from tandem.workbench.verilog_files import write_design

_DEFAULTS: Final[Mapping[str, Any]] = {"config": "pynq", "events": False, "mhz": DEFAULT_MHZ}
_FIRST: Final = "1.0"
"""The version of FuseSoC's interface to generators."""


def generate_core(request: str, folder: Path | None = None) -> None:
    """Write the core that a request of FuseSoC asks for.

    Parameters
    ----------
    request
        The YAML file that FuseSoC hands to a generator: the core's name, the folder that files
        count from, and `config`, `events` and `mhz` as parameters.
    folder
        Where to write; the current folder by default.

    Raises
    ------
    ArgumentValueError
        A parameter that is not known, or not of its type; another version of the interface.
    ConfigError, OSError
        The configuration cannot be had; a file cannot be read or written.
    """
    import yaml

    asked = yaml.safe_load(Path(request).read_text("utf-8"))
    if str(asked.get("gapi")) != _FIRST:
        raise ArgumentValueError(f"a request of interface {asked.get('gapi')}: {_FIRST} is known")
    given = asked.get("parameters") or {}
    unknown = given.keys() - _DEFAULTS.keys()
    if unknown:
        raise ArgumentValueError(
            f"no parameter {', '.join(sorted(unknown))}: there are {', '.join(_DEFAULTS)}"
        )
    parameters = {**_DEFAULTS, **given}
    if not isinstance(parameters["events"], bool):
        raise ArgumentValueError(f"events is {parameters['events']!r}: it must be true or false")
    mhz = parameters["mhz"]
    if isinstance(mhz, bool) or not isinstance(mhz, int | float) or mhz <= 0:
        raise ArgumentValueError(f"mhz is {mhz!r}: it must be a number above 0")
    config = load_config(_located(str(parameters["config"]), Path(asked["files_root"])))
    design = verilog_of(config, events=parameters["events"])
    place = Path.cwd() if folder is None else folder
    write_design(place, config, design, float(mhz), core=asked["vlnv"])


def _located(config: str, root: Path) -> str:
    """A configuration's name, or the path of a file, which counts from `root`."""
    file = root / config
    return str(file) if file.is_file() else config
