"""The processor's instructions beside an accelerator: counted, and few."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tandem.scripts.bench import processor_share
from tests.support.workbench.cross import CROSS


@pytest.mark.exhaustive
def test_digits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    CROSS["rv32im"].require()
    if shutil.which("riscv64-unknown-elf-nm") is None:
        pytest.skip("riscv64-unknown-elf-nm is not installed")
    monkeypatch.setattr("sys.argv", ["processor_share", "digits"])
    assert processor_share.main() == 0
    printed = capsys.readouterr().out
    assert "digits, float32 in and out" in printed
    assert "digits, int8 in and out" in printed
    # No function of the compiler's library for floats.
    assert "sf3" not in printed


def test_what_is_counted(tmp_path: Path) -> None:
    """What runs between the two marks, by the function that an address lies in."""
    addresses = (0x10, 0x20, 0x24, 0x30, 0x34, 0x38, 0x20, 0x10)
    lines = [f"Trace 0: 0x7f [00000000/{at:08x}/00000000/ff000000] \n" for at in addresses]
    (tmp_path / "log").write_text("".join(["Linking\n", *lines]))
    names = [(0x10, "before"), (0x20, "mark"), (0x30, "run"), (0x38, "other")]
    found = processor_share._by_function(tmp_path / "log", names)
    assert found == Counter({"run": 2, "other": 1})
