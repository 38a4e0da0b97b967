"""The best records of files, as a file: what is kept of a long search.

`python -m scripts.tune.best_of FILE... -o OUTPUT` keeps the best measured record of each workload
on each machine with each memory; with `--better` only those that beat the compiler's own choice,
which `tandem tune` measures first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from compiler.errors import RecordError
from compiler.tune.best_records import best_records
from compiler.tune.records import merge_records, read_records
from hw.files import write_atomically
from scripts.tune.session import DEFAULT


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the best records of files to another."""
    parser = argparse.ArgumentParser(prog="python -m scripts.tune.best_of")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUTPUT")
    parser.add_argument(
        "--better", action="store_true", help="only what beats the compiler's own choice"
    )
    asked = parser.parse_args(arguments)
    try:
        read = [read_records(path) for path in asked.files]
    except RecordError as error:
        sys.exit(f"error: {error}")
    for damage in (damage for _, damages in read for damage in damages):
        print(f"warning: {damage}", file=sys.stderr)
    kept = best_records(merge_records(*(records for records, _ in read)))
    if asked.better:
        kept = [record for record in kept if record.explorer != DEFAULT]
    encoder = msgspec.json.Encoder(order="deterministic")
    write_atomically(asked.output, b"".join(encoder.encode(record) + b"\n" for record in kept))
    print(f"{asked.output}: {len(kept)} of {sum(len(records) for records, _ in read)} records")


if __name__ == "__main__":
    main()
