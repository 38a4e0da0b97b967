"""The wheel has everything that the command needs, data files too."""

from __future__ import annotations

import os
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("base", "hw", "sim", "runtime", "compiler", "tandem", "scripts")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_it_holds_the_floors_and_nothing_else(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info")
    assert {path.name for path in installed.iterdir()} == {*FLOORS, metadata.name}
    source = {
        path.relative_to(ROOT)
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*")
        if path.suffix in (".py", ".json", ".jsonl", ".cpp", ".hpp", ".h")
    }
    assert {path for path in source if not (installed / path).is_file()} == set()


def test_its_command_is_tandem(installed: Path) -> None:
    (entry_points,) = installed.glob("*.dist-info/entry_points.txt")
    parser = ConfigParser()
    parser.read(entry_points)
    assert dict(parser["console_scripts"]) == {"tandem": "tandem.scripts.cli:main"}


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["disasm", "program.bin", "--config", "tiny"], "FINISH"),
        (["sim", "--help"], "Run a raw program on a raw memory image, or an artifact"),
    ],
)
def test_the_command_works_from_it(
    installed: Path, tmp_path: Path, arguments: list[str], answer: str
) -> None:
    # A path in front of everything else, so that the working copy is not what runs.
    code = (
        "import tandem.scripts.cli, sys\n"
        f"assert tandem.scripts.cli.__file__.startswith({str(installed)!r})\n"
        "tandem.scripts.cli.main()\n"
    )
    (tmp_path / "program.bin").write_bytes(bytes([3]) + bytes(15))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout
