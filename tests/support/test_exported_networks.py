"""Exported networks, where PyTorch is installed: the same files for the same seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="what exports the networks")
pytest.importorskip("onnxruntime", reason="what quantises some of them")

from tests.support.exported.catalogue import networks
from tests.support.exported.quantised import QUANTISED
from tests.support.exported_networks import main

ONLY = ("--only", "resnet", "--only", "recommender")


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        assert main([str(tmp_path / folder), *ONLY]) == 0
    paths = sorted((tmp_path / "first").iterdir())
    assert [path.stem for path in paths] == ["recommender", "resnet", "resnet_s8s8"]
    for path in paths:
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_names() -> None:
    known = networks()
    assert len(known) >= 30
    assert {*QUANTISED} <= {*known}
    assert not {*known} & {name for versions in QUANTISED.values() for name in versions}
