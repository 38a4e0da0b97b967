"""Artifacts as bytes and files: whole, or refused in one line."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.runtime.artifact import from_bytes, read_artifact, to_bytes, write_artifact
from tandem.runtime.errors import ArtifactError
from tests.support.runtime.artifacts import compiled

CHECKSUM = 64


def one_line(error: pytest.ExceptionInfo[ArtifactError]) -> str:
    message = str(error.value)
    assert message
    assert "\n" not in message
    return message


def repaired(data: bytes) -> bytes:
    """With the checksum that its bytes have."""
    return data[:-CHECKSUM] + sha256(data[:-CHECKSUM]).hexdigest().encode()


def rezipped(change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The archive with other members."""
    with zipfile.ZipFile(io.BytesIO(to_bytes(compiled()))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    change(parts)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = comment
    return repaired(file.getvalue())


def test_bytes_and_back() -> None:
    artifact = compiled()
    again = from_bytes(to_bytes(artifact))
    assert again.manifest == artifact.manifest
    assert again.code == artifact.code
    assert again.constants.keys() == artifact.constants.keys()
    for name, array in again.constants.items():
        np.testing.assert_array_equal(array, artifact.constants[name])
        assert array.dtype == artifact.constants[name].dtype
        assert not array.flags.writeable
        assert array.__array_interface__["data"][0] % 64 == 0
    assert to_bytes(again) == to_bytes(artifact)


def test_any_tool_for_archives_opens_it() -> None:
    with zipfile.ZipFile(io.BytesIO(to_bytes(compiled()))) as archive:
        assert archive.testzip() is None
        assert {"manifest.json", "constants.bin", "code/object/dense"} <= set(archive.namelist())


def changed_byte(data: st.DataObject) -> None:
    good = bytearray(to_bytes(compiled()))
    where = data.draw(st.integers(0, len(good) - 1))
    good[where] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ArtifactError) as error:
        from_bytes(bytes(good))
    one_line(error)


def changed_with_its_checksum(data: st.DataObject) -> None:
    """Whoever repairs the outer checksum meets the inner ones, or made an artifact."""
    good = bytearray(to_bytes(compiled()))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(good) - CHECKSUM - 1))
        good[where] ^= data.draw(st.integers(1, 255))
    with suppress(ArtifactError):
        found = from_bytes(repaired(bytes(good)))
        assert found.manifest == compiled().manifest


def changed_length(data: st.DataObject) -> None:
    good = to_bytes(compiled())
    more = data.draw(st.binary(min_size=1, max_size=9))
    cut = good[: data.draw(st.integers(0, len(good) - 1))]
    for bad in (cut, good + more, more + good, more):
        with pytest.raises(ArtifactError) as error:
            from_bytes(bad)
        one_line(error)


FUZZ = pytest.mark.parametrize("attack", [changed_byte, changed_with_its_checksum, changed_length])


@FUZZ
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damage(attack: Callable[[st.DataObject], None], data: st.DataObject) -> None:
    attack(data)


@pytest.mark.exhaustive
@FUZZ
@settings(max_examples=10_000, deadline=None)
@given(data=st.data())
def test_much_damage(attack: Callable[[st.DataObject], None], data: st.DataObject) -> None:
    attack(data)


@pytest.mark.exhaustive
def test_each_byte() -> None:
    good = to_bytes(compiled())
    for where in range(len(good)):
        bad = bytearray(good)
        bad[where] ^= 1
        with pytest.raises(ArtifactError):
            from_bytes(bytes(bad))


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda parts: parts.__delitem__(name)


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        assert old in parts[name]
        parts[name] = parts[name].replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("manifest.json"), "cannot be read: .*manifest.json"),
        (without("constants.bin"), "cannot be read: .*constants.bin"),
        (without("code/object/dense"), "f runs dense, and there is no such code"),
        (
            replaced("manifest.json", b'"format":2', b'"format":1'),
            "has format 1; 2 can be read: make it anew, with `tandem compile net -o FILE`",
        ),
        (
            lambda parts: parts.update({"manifest.json": b'{"format": 9, "manifest": 3}'}),
            "format 9; 2 can be read$",
        ),
        (replaced("manifest.json", b'"format":2', b'"format":"2"'), "Expected `int`, got `str`"),
        (replaced("manifest.json", b'"macs"', b'"mucs"'), "missing required field `macs`|`mucs`"),
        (replaced("manifest.json", b'"arena"', b'"arana"'), "Invalid value 'arana'"),
        (replaced("manifest.json", b"float32", b"float99"), "float99"),
        (replaced("manifest.json", b"{", b"["), "cannot be read"),
        (replaced("constants.bin", b"\0", b""), r"have \d+ bytes: the manifest has \d+"),
        (replaced("code/object/dense", b"\x7fELF", b"\x7fELV"), "object code of dense: its code"),
        (
            lambda parts: parts.update({"code/spell/x": b""}),
            "code x is of the kind spell; what can be read is network, object, pool, stream",
        ),
        (
            lambda parts: parts.update({"code/stream/x": b""}),
            "this is no instruction stream of ours",
        ),
    ],
)
def test_other_parts(change: Callable[[dict[str, bytes]], None], message: str) -> None:
    with pytest.raises(ArtifactError, match=message) as error:
        from_bytes(rezipped(change))
    one_line(error)


def test_parts_that_are_compressed() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"{}" * 1000)
        archive.comment = to_bytes(compiled())[-CHECKSUM - 23 :]
    with pytest.raises(ArtifactError, match="compressed"):
        from_bytes(repaired(file.getvalue()))


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    write_artifact(compiled(), path)
    assert to_bytes(read_artifact(path)) == path.read_bytes()
    assert [each.name for each in tmp_path.iterdir()] == ["net.tandem"]


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    with pytest.raises(ArtifactError, match=r"net\.tandem: No such file"):
        read_artifact(path)
    with pytest.raises(ArtifactError, match=r"Is a directory"):
        read_artifact(tmp_path)
    with pytest.raises(ArtifactError, match=r"No such file or directory"):
        write_artifact(compiled(), tmp_path / "none" / "net.tandem")
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(ArtifactError, match=r"net\.tandem: this is no artifact"):
        read_artifact(path)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk. It cannot be taken back."""
    path = tmp_path / "net.tandem"
    path.write_bytes(to_bytes(compiled()))
    code = """
import resource, signal, sys
from pathlib import Path
from tandem.runtime.artifact import read_artifact, write_artifact
from tandem.runtime.errors import ArtifactError
path = Path(sys.argv[1])
artifact = read_artifact(path)
path.write_bytes(b"old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_artifact(artifact, path)
except ArtifactError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (f"{path}: File too large\n", "")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["net.tandem"]


def test_an_interruption_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.tandem"
    path.write_bytes(b"old")

    def interrupt(_: Path, data: bytes) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_artifact(compiled(), path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["net.tandem"]


def test_it_runs_where_there_is_no_compiler(tmp_path: Path) -> None:
    path = tmp_path / "net.tandem"
    write_artifact(compiled(), path)
    code = """
import sys
for name in ("tandem.compiler", "onnx", "tandem.base.jit", "amaranth"):
    sys.modules[name] = None
from pathlib import Path
import numpy as np
from tandem.runtime.artifact import read_artifact
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
executor = Executor(read_artifact(Path(sys.argv[1])), [CpuDevice(threads=2)])
inputs = {each.name: np.zeros(each.shape, each.dtype) for each in executor.inputs}
print(executor.run(inputs).outputs["t"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout == "[1 2]\n"
