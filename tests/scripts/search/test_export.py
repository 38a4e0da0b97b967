"""`--export`: folders that machines can be written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.scripts.errors import CommandError
from tandem.scripts.search.export import check_export
from tandem.workbench.search.export import is_machine_folder


def test_folders(tmp_path: Path) -> None:
    check_export(tmp_path, [])
    check_export(tmp_path / "new", [tmp_path / "net.onnx"])
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file"):
        check_export(tmp_path / "file", [])


def test_inputs_that_would_be_replaced(tmp_path: Path) -> None:
    """In folders of machines alone, also by way of links."""
    folder = tmp_path / "out"
    machine = next(
        folder / name
        for name in ("1", "01", "001", "machine-1", "machine-01", "machine_1")
        if is_machine_folder(Path(name))
    )
    (machine / "deep").mkdir(parents=True)
    for path in (machine / "net.onnx", machine / "deep" / "net.onnx"):
        with pytest.raises(CommandError, match=r"--export would replace the input .*net\.onnx$"):
            check_export(folder, [tmp_path / "other.onnx", path])
    check_export(folder, [folder / "net.onnx", folder / "mine" / "net.onnx"])
    # The folder is itself called so, or lies in one.
    check_export(machine, [machine / "net.onnx", machine / "deep" / "net.onnx"])
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(CommandError):
        check_export(tmp_path / "link", [machine / "net.onnx"])
