"""The benchmark of the sentence model as a command, with a small model of random weights."""

from __future__ import annotations

import string
import sys
from pathlib import Path

import numpy as np
import pytest

import tandem
from tandem.scripts.bench import sentence_model
from tandem.scripts.bench.sentence_model import TARGETS, TOKENS
from tandem.scripts.bench.sentences.activations import padded
from tests.support.scripts.bench.small_bert import small_bert, write_model

PIECES = ("[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase, "the", "##e", "##s", "##a", "##t")
BERT = small_bert(len(PIECES), TOKENS)


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["sentence_model", *arguments])
    return sentence_model.main()


def test_rows_and_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_model(BERT, PIECES, tmp_path)
    few = ("--sentences", "3", "--calibration", "2", "--weights-alone")
    code = command(monkeypatch, str(tmp_path), *few)
    rows, _, table = capsys.readouterr().out.partition("\n\n")
    for row, how in zip(rows.splitlines()[::2], TARGETS, strict=True):
        assert row.startswith(str(how))
    assert code == ("MISSED" in rows)
    lines = table.splitlines()
    assert lines[0] == "| weights | bits | nearest | calibrated |"
    assert len(lines) == 2 + 7, "a row for each format and size of groups"
    means = [float(cell) for cell in lines[2].split("|") if cell.strip().startswith(("0.", "1."))]
    assert means[0] > 0.99, "eight bits cost little"


def test_the_model_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(BERT, PIECES, tmp_path)
    file = tmp_path / "model.onnx"
    assert command(monkeypatch, str(tmp_path), "--onnx", str(file)) == 0
    artifact = tandem.compile(file, tandem.Cpu(), quantize="none")
    words = [1, 5, 30, 9, 2]
    found = tandem.Session(artifact).run(padded([words], TOKENS))["embedding"]
    np.testing.assert_allclose(found[0], BERT.embedding(words), atol=1e-5)
