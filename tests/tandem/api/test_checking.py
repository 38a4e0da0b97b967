"""`tandem.check`: engines and the CPU compared, and differences found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tandem
from tandem.api.checking import check
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError
from tandem.workbench.platform import Platform

Image = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def test_two_engines_and_the_cpu_agree(artifact: tandem.Artifact, image: Image) -> None:
    found = check(artifact, image, engines=("functional", "cycle"))
    assert (found.equal, found.first) == (True, None)
    assert found.engines is not None
    assert found.engines.engines == ("functional", "cycle")
    assert found.sqnr is not None
    assert found.sqnr["out:0"] > 25
    assert repr(found).startswith("equal: functional and cycle, ")
    assert "dB against float32" in repr(found)


def test_a_loaded_artifact_has_no_float32(artifact: tandem.Artifact, tmp_path: Path) -> None:
    artifact.save(tmp_path / "net.tandem")
    found = check(tandem.Artifact.load(tmp_path / "net.tandem"))
    assert (found.equal, found.sqnr, found.engines) == (True, None, None)


def test_a_difference_is_found(artifact: tandem.Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Platform.run

    def damaged(self: Platform, compiled: Any, *arguments: Any) -> Any:
        runs = run(self, compiled, *arguments)
        if compiled is artifact.network.artifact:
            runs[0].outputs["out:0"][0, 2] += 1
        return runs

    monkeypatch.setattr(Platform, "run", damaged)
    found = check(artifact)
    assert not found.equal
    assert found.cpu.mismatches == 1
    assert found.first is not None
    assert found.first.startswith("out:0[0, 2] is ")
    assert repr(found).startswith("different: out:0[0, 2] is ")


@pytest.mark.parametrize(
    ("engines", "message"),
    [
        ("verilator", "no engine 'verilator': there are functional, cycle, rtl, pysim"),
        ((), "there must be one engine, or two"),
        (("rtl", "cycle", "pysim"), "there must be one engine, or two"),
    ],
)
def test_wrong_engines(artifact: tandem.Artifact, engines: Any, message: str) -> None:
    with pytest.raises(ArgumentValueError, match=message):
        check(artifact, engines=engines)


def test_there_must_be_an_accelerator(artifact: tandem.Artifact) -> None:
    with pytest.raises(ArgumentValueError, match=r"nothing of net.onnx is on an accelerator"):
        check(artifact.on_cpu())
    with pytest.raises(ArgumentTypeError, match="it must be an Artifact"):
        check("net.tandem")  # type: ignore[arg-type]
