"""`python -m tandem.scripts.tune.best_of`: the best records of files, in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tandem.compiler.tune.best_records import best_records
from tandem.compiler.tune.built_in import built_in_files
from tandem.compiler.tune.records import Record, append_records, read_records
from tandem.compiler.tune.run import DEFAULT
from tandem.compiler.tune.trial import Status
from tandem.scripts.tune.best_of import main


def worse(record: Record) -> Record:
    assert record.cost is not None
    return replace(record, cost=record.cost + 1)


def test_a_file_of_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (source, *_) = built_in_files()
    best, _ = read_records(source)
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    append_records(files[0], [worse(record) for record in best])
    append_records(files[1], reversed(best))
    with files[1].open("a") as file:
        file.write("{}\n")
    output = tmp_path / "best.jsonl"
    main([*map(str, files), "-o", str(output)])
    assert output.read_bytes() == source.read_bytes()
    printed = capsys.readouterr()
    assert printed.out == f"{output}: {len(best)} of {2 * len(best)} records\n"
    assert printed.err.startswith(f"warning: {files[1]}:{len(best) + 1}: skipped: ")
    assert best_records(best) == best
    assert {record.status for record in best} == {Status.MEASURED}


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^error: none\.jsonl: No such file or directory$"):
        main(["none.jsonl", "-o", str(tmp_path / "best.jsonl")])


def test_only_what_beats_the_compiler(tmp_path: Path) -> None:
    (source, *_) = built_in_files()
    best, _ = read_records(source)
    file, output = tmp_path / "a.jsonl", tmp_path / "best.jsonl"
    own = [replace(worse(record), explorer=DEFAULT) for record in best]
    # The first workload's own choice is as good as what was found after it.
    own[0] = replace(best[0], explorer=DEFAULT)
    append_records(file, [*own, *best])
    main([str(file), "-o", str(output), "--better"])
    assert read_records(output)[0] == best[1:]
