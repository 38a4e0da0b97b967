"""Synthesised machines to learn from: `python -m tandem.scripts.search.samples --help`.

Machines are drawn from a space; each measurement is a line of JSON, written at once. Machines that
the file has are not measured again, so that a collection can be stopped and continued.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tandem.base.errors import BaseError
from tandem.compiler.search.space import Space, load_space
from tandem.hw.area.synthesis import area_parts, design_area
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config
from tandem.hw.errors import ConfigError, HardwareError
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.place import place_and_route
from tandem.hw.synthesis.resources import resource_counts
from tandem.hw.synthesis.synthesize import synthesize

KINDS = ("area", *(family.value for family in Family), "clock")


def drawn(space: Space, seed: int) -> Iterator[HardwareConfig]:
    """Possible machines of a space, at random."""
    chance = random.Random(seed)
    while True:
        try:
            yield space.machine([chance.randrange(len(each.values)) for each in space.dimensions])
        except ConfigError:
            continue


def measured(config: HardwareConfig, kind: str) -> dict[str, object]:
    """What synthesis says of a machine; raises `HardwareError` or `BaseError`."""
    design = generate(config)
    match kind:
        case "area":
            return area_parts(design_area(design))
        case "clock":
            return {"mhz": place_and_route(design, seeds=(1,)).median.mhz}
        case _:
            return resource_counts(synthesize(design, Family(kind)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--space", default="fpga")
    parser.add_argument(
        "--config", action="append", default=[], help="this machine, not drawn ones"
    )
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    known = set()
    if options.output.exists():
        for line in options.output.read_text().splitlines():
            record = json.loads(line)
            known.add((record["kind"], _key(record["config"])))
    machines = drawn(load_space(options.space), options.seed)
    if options.config:
        machines = iter([load_config(name) for name in options.config])
    for _, config in zip(range(options.count), machines, strict=False):
        plain = json.loads(dump_config(config))
        if (options.kind, _key(plain)) in known:
            continue
        record = {"kind": options.kind, "config": plain}
        try:
            record |= measured(config, options.kind)
        except (HardwareError, BaseError) as error:
            record["refused"] = str(error)
        with options.output.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _key(plain: dict[str, object]) -> str:
    return json.dumps({**plain, "name": ""}, sort_keys=True)


if __name__ == "__main__":
    main()
