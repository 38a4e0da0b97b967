"""The wheel has everything that the command needs, data files too."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.packages import FOLDERS, LINKED

ROOT = Path(__file__).parents[2]


def built(kind: str, root: Path, folder: Path) -> list[Path]:
    """The distribution of a tree, in `folder`."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    return [*folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = built("wheel", ROOT, folder)
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_it_holds_one_package_and_nothing_else(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info")
    assert {path.name for path in installed.iterdir()} == {"tandem", metadata.name}
    source = {
        Path("tandem") / (path.relative_to(ROOT if folder in LINKED else ROOT / folder))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix
        in (".py", ".json", ".jsonl", ".cpp", ".hpp", ".h", ".html", ".css", ".js", ".vlt")
    }
    assert len(source) > 900
    assert {path for path in source if not (installed / path).is_file()} == set()


def test_it_can_be_made_of_the_source_distribution(installed: Path, tmp_path: Path) -> None:
    """Which has no links, and each file once."""
    (source,) = built("sdist", ROOT, tmp_path)
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
        names = archive.getnames()
    assert len(names) == len({*names})
    root = tmp_path / source.name.removesuffix(".tar.gz")
    assert not any((root / folder).exists() for folder in LINKED)
    (wheel,) = built("wheel", root, tmp_path)
    with ZipFile(wheel) as archive:
        inside = archive.namelist()
    assert len(inside) == len({*inside})
    files = {path.relative_to(installed).as_posix() for path in installed.rglob("*")}
    assert {name for name in inside} == {name for name in files if (installed / name).is_file()}


def test_its_command_is_tandem(installed: Path) -> None:
    (entry_points,) = installed.glob("*.dist-info/entry_points.txt")
    parser = ConfigParser()
    parser.read(entry_points)
    assert dict(parser["console_scripts"]) == {"tandem": "tandem.scripts.entry:main"}


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


PROGRAM = """
import tandem
assert tandem.__file__.startswith(sys.argv[1]), tandem.__file__
artifact = tandem.compile(tandem.load("digits"), tandem.Accelerator("small8"))
artifact.save("digits.tandem")
run = tandem.Session(tandem.Artifact.load("digits.tandem")).run(artifact.noise(seed=0))
print(run.outputs["output"].shape, run.cycles > 0, len(run.layers) > 0)
"""


def test_the_front_door_opens_beside_files_of_the_same_names(
    installed: Path, tmp_path: Path
) -> None:
    for name in ("sim", "hw", "runtime", "compiler", "base", "api"):
        (tmp_path / f"{name}.py").write_text("raise ImportError(__file__)\n")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "__init__.py").write_text("raise ImportError(__file__)\n")
    (tmp_path / "program.py").write_text(f"import sys\n{PROGRAM}")
    done = subprocess.run(
        [sys.executable, "program.py", str(installed)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(1, 10) True True\n"
