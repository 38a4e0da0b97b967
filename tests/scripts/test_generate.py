"""`tandem generate`: what it prints, and refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner, Result

from tandem.compiler.models import built_in
from tandem.runtime.decoder import write_decoder
from tandem.scripts.cli import app
from tandem.scripts.generate import shown
from tests.support.decoders import ONE_LAYER, ROTARY, compiled, exported
from tests.support.scripts.terminal import interrupted


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["generate", *map(str, arguments)])


def printed(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generate") / "one-layer.tandem"
    write_decoder(compiled(ONE_LAYER, "tiny-x"), path)
    return path


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generate") / "rotary.tandem"
    write_decoder(compiled(ROTARY, None), path)
    return path


def test_what_would_command_a_terminal_is_shown_as_escapes() -> None:
    assert shown("a\tb\nc\u00e9\u4e2d") == "a\tb\nc\u00e9\u4e2d"
    assert shown("\x1b[2J\r\x7f\x9b") == r"\x1b[2J\r\x7f\x9b"


def test_json(artifact: Path) -> None:
    found = printed(artifact, "--prompt", "In the", "--tokens", 4)
    assert [*found] == [
        *("model", "engine", "config", "context", "prompt", "text", "tokens"),
        *("prefill_calls", "cycles"),
    ]
    assert (found["model"], found["engine"], found["config"]) == ("one-layer", "cycle", "tiny-x")
    assert bytes(found["prompt"]) == b"In the"
    tokens = [each["token"] for each in found["tokens"]]
    # A row of keys and one of values, within the call and in the memory of both functions.
    assert {each["cache_bytes"] for each in found["tokens"][1:]} == {3 * 2 * 16}
    assert found["text"] == bytes(tokens).decode("utf-8", "backslashreplace")
    assert found["cycles"] == sum(each["cycles"] for each in found["tokens"])
    as_numbers = ",".join(map(str, b"In the"))
    again = printed(artifact, "--prompt-tokens", as_numbers, "--tokens", 4, "--engine", "rtl")
    assert again == {**found, "engine": "rtl"}
    timeless = printed(artifact, "--prompt", "In the", "--tokens", 4, "--engine", "functional")
    assert [each["token"] for each in timeless["tokens"]] == tokens
    assert timeless["cycles"] is None


def test_text_and_numbers(artifact: Path, words: Path) -> None:
    result = run(artifact, "--prompt", "In the", "--tokens", 4)
    found = printed(artifact, "--prompt", "In the", "--tokens", 4)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"In the{found['text']}\n")
    first, *others = found["tokens"]
    assert f"6 tokens in 2 calls, {first['cycles']:,} cycles" in result.stdout
    assert f"3, {others[0]['cycles']:,} cycles each" in result.stdout
    numbers = run(words, "--prompt-tokens", "7,8", "--tokens", 3)
    made = printed(words, "--prompt-tokens", "7,8", "--tokens", 3)
    tokens = " ".join(str(each["token"]) for each in made["tokens"])
    assert numbers.stdout.startswith(f"7 8 {tokens} \n")
    assert (made["text"], made["config"], made["cycles"]) == (None, None, None)


def test_sampling_is_reproducible(artifact: Path) -> None:
    common = (artifact, "--prompt", "In the", "--temperature", 4, "--tokens", 7)
    one, again, other, narrow = (
        printed(*common, "--engine", "functional", *more)["tokens"]
        for more in (("--seed", 1), ("--seed", 1), ("--seed", 2), ("--seed", 1, "--top-k", 1))
    )
    greedy = printed(artifact, "--prompt", "In the", "--tokens", 7, "--engine", "functional")
    assert one == again
    assert one != other
    assert narrow == greedy["tokens"]


def test_an_export_is_calibrated_with_tokens(tmp_path: Path) -> None:
    path, tokens = tmp_path / "export.onnx", tmp_path / "tokens.npy"
    onnx.save(exported(), path)
    np.save(tokens, np.arange(40) * 7 % 20)
    common = (path, "--prompt-tokens", "5,17,3", "--context", 8, "--prefill", 2, "--device", "cpu")
    warned = run(*common, "--tokens", 4, "--json")
    assert warned.stderr.startswith("warning: calibrated with random tokens")
    assert run(*common, "--tokens", 4, "--json", "--calibrate", tokens).stderr == ""


def test_an_export_is_compiled_and_written(tmp_path: Path) -> None:
    path, output = tmp_path / "export.onnx", tmp_path / "export.tandem"
    onnx.save(exported(), path)
    common = ("--prompt-tokens", "5,17,3", "--tokens", 4)
    compiling = ("--context", 10, "--prefill", 2, "--quantize", "none", "--device", "cpu")
    found = printed(path, *common, *compiling, "-o", output)
    assert (found["context"], found["prefill_calls"]) == (10, 2)
    assert printed(output, *common) == found


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("--prompt TEXT or with --prompt-tokens", ()),
        ("--prompt TEXT or with --prompt-tokens", ("--prompt", "a", "--prompt-tokens", "1")),
        ("the prompt has 13 tokens, and the context 12", ("--prompt", "thirteen byte")),
        ("at most 11", ("--prompt", "ab", "--tokens", 12)),
        ("256 is no token", ("--prompt-tokens", "256", "--tokens", 2)),
        ("is an artifact, compiled already", ("--prompt", "a", "--context", 8)),
        ("is an artifact, compiled already", ("--prompt", "a", "--weights", "int4")),
        ("the accelerator or on the CPU", ("--prompt", "a", "--device", "opencl")),
    ],
)
def test_refusals(message: str, arguments: tuple[object, ...], artifact: Path) -> None:
    refused(message, artifact, *arguments)


def refused(message: str, *arguments: object) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_models_that_are_no_decoders(tmp_path: Path, words: Path) -> None:
    path = tmp_path / "digits.onnx"
    onnx.save(built_in("digits"), path)
    refused("digits is no decoder; built-in ones are gpt2", "digits", "--prompt", "a")
    refused("digits.onnx is no decoder: it has no inputs past_key_values.*", path, "--prompt", "a")
    refused("'gpt7' is neither a decoder", "gpt7", "--prompt", "a")
    refused("none.onnx: No such file", tmp_path / "none.onnx", "--prompt", "a")
    refused("its 40 tokens are no bytes", words, "--prompt", "a")
    refused("no tokeniser", words, "--prompt", "a")
    refused("positions for 16", "gpt2-tiny", "--prompt-tokens", 1, "--context", 17)
    refused("60 is no token", "gpt2-tiny", "--prompt-tokens", 60)
    refused("at most 15", "gpt2-tiny", "--prompt-tokens", "1,2", "--tokens", 16)
    tokens = ("--prompt-tokens", 1, "--tokens", 2)
    text, floats = tmp_path / "text.txt", tmp_path / "floats.npy"
    text.write_text("In the beginning")
    np.save(floats, np.zeros(3))
    refused("its 60 tokens are no bytes", "gpt2-tiny", *tokens, "--calibrate", text)
    refused("no kind of whole numbers", "gpt2-tiny", *tokens, "--calibrate", floats)
    refused("not none", "gpt2-tiny", *tokens, "--quantize", "none", "--calibrate", path)
    for wrong in (("--prompt-tokens", "1,x"), ("--prompt", "")):
        assert run("gpt2-tiny", *wrong).exit_code == 2


@pytest.mark.exhaustive
def test_an_interruption_leaves_no_file(tmp_path: Path) -> None:
    arguments = ["generate", "gpt2", "--prompt-tokens", "1,2", "-o", "a.tandem"]
    assert interrupted(arguments, b"importing", tmp_path) == b""
    assert [*tmp_path.iterdir()] == []
