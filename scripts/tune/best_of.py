"""The best records of files, as a file: what is kept of a long search.

`python -m tandem.scripts.tune.best_of FILE... -o OUTPUT` keeps the best measured record of each
workload on each machine with each memory; with `--better` only those that beat the compiler's own
choice, which `tandem tune` measures first; with `--network MODEL` (may be repeated) only those that
make this network faster as a whole, or that it does not use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tandem.base.files import write_atomically
from tandem.compiler.errors import CompilerError
from tandem.compiler.tune.best_records import best_records
from tandem.compiler.tune.records import merge_records, read_records
from tandem.compiler.tune.run import DEFAULT
from tandem.workbench.errors import TandemError
from tandem.workbench.models import ModelOptions, prepared_network
from tandem.workbench.useful_records import useful_records


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the best records of files to another."""
    parser = argparse.ArgumentParser(prog="python -m tandem.scripts.tune.best_of")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUTPUT")
    parser.add_argument(
        "--better", action="store_true", help="only what beats the compiler's own choice"
    )
    parser.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="MODEL",
        help="drop records that bring this model nothing, as a whole; may be repeated",
    )
    asked = parser.parse_args(arguments)
    try:
        read = [read_records(path) for path in asked.files]
        networks = [prepared_network(model, ModelOptions()) for model in asked.network]
    except (TandemError, CompilerError) as error:
        sys.exit(f"error: {error}")
    for damage in (damage for _, damages in read for damage in damages):
        print(f"warning: {damage}", file=sys.stderr)
    kept = best_records(merge_records(*(records for records, _ in read)))
    if asked.better:
        kept = [record for record in kept if record.explorer != DEFAULT]
    if networks:
        kept = useful_records(kept, networks)
    encoder = msgspec.json.Encoder(order="deterministic")
    write_atomically(asked.output, b"".join(encoder.encode(record) + b"\n" for record in kept))
    print(f"{asked.output}: {len(kept)} of {sum(len(records) for records, _ in read)} records")


if __name__ == "__main__":
    main()
