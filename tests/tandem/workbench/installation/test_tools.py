"""`tandem.workbench.installation.tools`: what the engine `rtl` needs, and the processor."""

from __future__ import annotations

import os
import shutil

import pytest

from tandem.workbench.installation.tools import (
    firmware_check,
    processor_check,
    python_check,
    tool_checks,
)


def test_python_and_processor_of_the_tests() -> None:
    assert python_check().ok
    check = processor_check()
    assert check.ok
    assert f"{len(os.sched_getaffinity(0))} core" in check.detail


def test_a_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    compiler, verilator = tool_checks()
    assert (compiler.name, compiler.ok, compiler.required) == ("C++ compiler", False, True)
    assert "no-such-compiler" in compiler.detail
    assert "(the engine rtl)" in compiler.detail
    assert compiler.remedy
    assert verilator.ok


def test_no_compiler_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    compiler, _ = tool_checks()
    assert not compiler.ok
    assert compiler.remedy.startswith("install one (Debian: apt install g++)")


@pytest.mark.parametrize("found", [None, "/usr/bin/riscv64-unknown-elf-gcc"])
def test_the_compiler_of_firmware(found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: found)
    check = firmware_check()
    assert (check.ok, check.required) == (found is not None, False)
    assert "riscv64-unknown-elf-gcc (firmware of tandem soc)" in check.detail
    assert bool(check.remedy) != check.ok
