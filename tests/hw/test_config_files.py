"""Configurations from presets, our files and TVM's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config, name_of, parse_config, preset_names
from tandem.hw.errors import ConfigError
from tandem.hw.topology import MemoryId
from tests.support.hw.strategies import configs
from tests.support.hw.vectors import load_vector, vector_names

TVM: dict[str, Any] = {
    "TARGET": "sim",
    "HW_VER": "0.0.2",
    "LOG_INP_WIDTH": 3,
    "LOG_WGT_WIDTH": 3,
    "LOG_ACC_WIDTH": 5,
    "LOG_BATCH": 0,
    "LOG_BLOCK": 4,
    "LOG_UOP_BUFF_SIZE": 15,
    "LOG_INP_BUFF_SIZE": 15,
    "LOG_WGT_BUFF_SIZE": 18,
    "LOG_ACC_BUFF_SIZE": 17,
}


def parse(values: Mapping[str, Any]) -> HardwareConfig:
    return parse_config(json.dumps(values), "here.json")


# Presets ------------------------------------------------------------------------------------


def test_preset_names() -> None:
    base = ("batch2", "big32", "block4", "de10", "pynq", "small8", "tiny", "ultra96")
    expected = tuple(sorted((*base, "pynq-x", "small8-x", "tiny-x", "ultra96-x")))
    expected = tuple(sorted((*expected, "pynq-w", "small8-w", "tiny-w")))
    assert preset_names() == expected


@pytest.mark.parametrize("name", preset_names())
def test_preset_loads_and_holds_only_what_differs(name: str) -> None:
    config = load_config(name)
    assert config.name == name
    text = files("tandem.hw").joinpath("presets", f"{name}.json").read_text()
    values = json.loads(text)
    assert values.pop("name") == name
    default = HardwareConfig()
    assert all(getattr(default, key) != value for key, value in values.items())


def test_presets_are_what_they_say() -> None:
    assert load_config("pynq") == HardwareConfig()
    ultra96 = load_config("ultra96")
    assert (ultra96.bus_bits, ultra96.address_bits) == (128, 40)
    assert load_config("de10").longest_burst == 16
    big = load_config("big32")
    assert (big.block_in, big.block_out, big.bus_bits) == (32, 32, 128)
    tiny = load_config("tiny")
    assert (tiny.block_in, tiny.block_out, tiny.depth(MemoryId.ACC)) == (4, 4, 32)


def test_presets_of_the_golden_vectors() -> None:
    for name in vector_names():
        config = load_vector(name).config
        preset = load_config({"default": "pynq"}.get(config.name, config.name))
        assert config.replace(name=preset.name) == preset


# Our files ----------------------------------------------------------------------------------


@given(config=configs())
def test_dump_loads_back(config: HardwareConfig) -> None:
    assert parse_config(dump_config(config), "dump") == config


def test_dump_is_canonical(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"bus_bits": 128, "log_batch": 1}')
    config = load_config(path)
    assert config == HardwareConfig(name="mine", log_batch=1, bus_bits=128)
    assert load_config(str(path)) == config
    text = dump_config(config)
    assert dump_config(parse_config(text, "again")) == text
    assert json.loads(text)["features"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"^here\.json: not a JSON text: "),
        (b"\xff\xfe\xfa", r"^here\.json: not a JSON text: "),
        ("[" * 100_000, r"^here\.json: not a JSON text: "),
        ("[1]", r"^here\.json: a configuration is a JSON object, not a list$"),
        ("7", r"^here\.json: a configuration is a JSON object, not 7$"),
        ('{"bus_bits": 64, "bus_bits": 64}', r"^here\.json: key 'bus_bits' is there twice$"),
        ('{"buss": 64}', r"^here\.json: unknown key 'buss' \(value 64\); known: name, log_batch,"),
        ('{"block_in": 4}', r"; did you mean log_block_in\?$"),
        ('{"bus_bits": "64"}', r"^here\.json: bus_bits is '64': it must be a whole number$"),
        ('{"bus_bits": 64.0}', r"^here\.json: bus_bits is 64\.0: it must be a whole number$"),
        ('{"bus_bits": true}', r"^here\.json: bus_bits is True: it must be a whole number$"),
        ('{"bus_bits": 65}', r"^here\.json: bus_bits is 65: it must be one of \(64, 128,"),
        ('{"log_batch": 9}', r"^here\.json: log_batch is 9: it must lie in 0\.\.4$"),
        ('{"name": ""}', r"^here\.json: name is '': it must be a string, not empty$"),
        ('{"name": null}', r"^here\.json: name is None: it must be a string, not empty$"),
        ('{"name": "x\\nmodule y;"}', r"^here\.json: name is 'x\\nmodule y;': it must be ASCII"),
        ('{"name": "../../x"}', r"^here\.json: name is '\.\./\.\./x': it must be ASCII letters"),
        ('{"name": "a\\u0000"}', r"^here\.json: name is 'a\\x00': it must be ASCII letters"),
        ('{"name": "\\ud800"}', r"^here\.json: name is '\\ud800': it must be ASCII letters"),
        ('{"name": "grün"}', r"^here\.json: name is 'gr\\xfcn': it must be ASCII letters"),
        ('{"name": "..", "log_batch": 0}', r"^here\.json: name is '\.\.': .* begin with a letter"),
        ('{"name": "-o"}', r"^here\.json: name is '-o': .* begin with a letter, a digit or _$"),
        (
            '{"name": "' + "x" * 65 + '"}',
            r"^here\.json: name has 65 characters \('x{64}'\.\.\.\): at",
        ),
        ('{"name": 3}', r"^here\.json: name is 3: it must be a string, not empty$"),
        ('{"features": "x"}', r"^here\.json: features is 'x': it must be a list of names$"),
        ('{"features": ["warp"]}', r"^here\.json: features has 'warp'; known: "),
        ('{"features": [["warp"]]}', r"^here\.json: features has \['warp'\]; known: "),
    ],
)
def test_refuses_a_bad_file(text: str | bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_config(text, "here.json")


def test_names_of_files_become_names(tmp_path: Path) -> None:
    names = {
        "my machine.json": "my_machine",
        ".hidden": "_hidden",
        "größe.json": "gr__e",
        "-o.json": "_o",
        "x" * 100 + ".json": "x" * 64,
        "a.b+c-1.json": "a.b+c-1",
        "two\nlines.json": "two_lines",
    }
    for file, name in names.items():
        (tmp_path / file).write_text("{}")
        assert load_config(tmp_path / file).name == name
    assert name_of(Path()) == "_"


def test_files_that_are_too_large_or_special(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="that can be read: not a regular file"):
        load_config("/dev/zero")
    (tmp_path / "large.json").write_text(" " * (1 << 20) + "{}")
    with pytest.raises(ConfigError, match="the file has 1,048,578 bytes; at most 1,048,576 are"):
        load_config(tmp_path / "large.json")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("pinq", "; did you mean pynq?"),
        ("32x8", 'differs from pynq, such as {"log_block_in": 5, "log_block_out": 3}'),
        ("1x128", 'such as {"log_block_in": 0, "log_block_out": 7}'),
        ("own", 'such as {"log_block_in": 5, "log_block_out": 3}'),
        ("32x9", "; the extents of an array are powers of two"),
        ("12x16", "; the extents of an array are powers of two"),
        ("0x8", '"log_block_out": 3}'),
        ("pinq.json", ": No such file or directory"),
        ("folder/32x8", ": No such file or directory"),
    ],
)
def test_a_name_that_is_no_preset_has_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as found:
        load_config(name)
    assert str(found.value).endswith(remedy)


def test_refuses_what_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    with pytest.raises(ConfigError, match=r"none\.json' is neither a preset \(batch2, .*No such"):
        load_config(missing)
    with pytest.raises(ConfigError, match=r"^'pinq' is neither a preset \(.*pynq.*\) nor a file"):
        load_config("pinq")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match="null"):
        load_config("a\0b")


# TVM's files --------------------------------------------------------------------------------


def test_tvm_default(tmp_path: Path) -> None:
    path = tmp_path / "vta_config.json"
    path.write_text(json.dumps(TVM))
    assert load_config(path) == HardwareConfig(name="vta_config")


def test_tvm_board_decides_the_bus() -> None:
    ultra96 = parse(TVM | {"TARGET": "ultra96"})
    assert ultra96.replace(name="ultra96") == load_config("ultra96")
    assert parse(TVM | {"TARGET": "de10nano"}).replace(name="de10") == load_config("de10")


def test_tvm_extra_keys() -> None:
    derived = {"LOG_BLOCK_IN": 4, "LOG_BLOCK_OUT": 4, "LOG_OUT_WIDTH": 3, "LOG_OUT_BUFF_SIZE": 15}
    more = TVM | derived | {"HW_VER": "0.0.1", "ACC_DEP_DISTANCE": 3}
    assert parse(more) == parse(TVM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"LOG_INP_WIDTH": 2}, r"LOG_INP_WIDTH is 2: it must be 3 \(this machine multiplies int8"),
        ({"LOG_WGT_WIDTH": 1}, "LOG_WGT_WIDTH is 1: it must be 3"),
        ({"LOG_ACC_WIDTH": 4}, "LOG_ACC_WIDTH is 4: it must be 5"),
        ({"LOG_OUT_WIDTH": 4}, "LOG_OUT_WIDTH is 4: it must be 3"),
        ({"LOG_BLOCK": "4"}, "LOG_BLOCK is '4': it must be a whole number"),
        ({"LOG_BLOCK": None}, "LOG_BLOCK is None: it must be a whole number"),
        ({"LOG_BLOCK_IN": 5}, "LOG_BLOCK_IN is 5: the other keys make it 4"),
        ({"LOG_OUT_BUFF_SIZE": 17}, "LOG_OUT_BUFF_SIZE is 17: the other keys make it 15"),
        ({"LOG_WGT_BUFF_SIZE": 8}, "log_wgt_buffer: 256 bytes hold fewer than two elements"),
        ({"LOG_WGT_BUFF_SIZE": 20}, "the GEMM word needs"),
        ({"HW_VER": "0.1.0"}, r"HW_VER is '0\.1\.0': it must be one of 0\.0\.1, 0\.0\.2"),
        ({"TARGET": "vu9p"}, "TARGET is 'vu9p': it must be one of pynq, sim"),
        ({"TARGET": ["sim"]}, r"TARGET is \['sim'\]: it must be one of"),
        ({"LOG_UOP_WIDTH": 5}, r"unknown key 'LOG_UOP_WIDTH' \(value 5\); known: LOG_BATCH"),
        ({"bus_bits": 64}, r"unknown key 'bus_bits' \(value 64\)"),
        ({"ACC_DEP_DISTANCE": "far"}, "ACC_DEP_DISTANCE is 'far': it must be a whole number"),
        ({"name": 5}, "name is 5: it must be a string"),
    ],
)
def test_refuses_a_bad_tvm_file(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"^here\.json: {message}"):
        parse(TVM | change)


@pytest.mark.parametrize("key", [key for key in TVM if key.startswith("LOG")])
def test_refuses_a_tvm_file_without(key: str) -> None:
    values = {other: value for other, value in TVM.items() if other != key}
    with pytest.raises(ConfigError, match=rf"^here\.json: key '{key}' is missing$"):
        parse(values)


OPERATIONS = [
    {"name": "XOR", "result": "a ^ b"},
    {"name": "CLIP", "result": "min(a + b >> s, 127)", "parameters": {"s": "uint5"}},
]


def test_custom_operations() -> None:
    text = json.dumps({"alu_operations": OPERATIONS, "alu_stages": 2})
    config = parse_config(text, "own", "own")
    assert [operation.name for operation in config.alu_operations] == ["XOR", "CLIP"]
    dumped = dump_config(config)
    assert json.loads(dumped)["alu_operations"] == OPERATIONS
    assert parse_config(dumped, "dump") == config
    # Without any, a text is what it was before there were such operations.
    assert "alu_" not in dump_config(load_config("pynq"))


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ({"name": "XOR"}, "own: alu_operations: {'name': 'XOR'} is no list of operations"),
        (["XOR"], "own: alu_operations: an operation is an object"),
        ([{"name": "XOR", "result": "a @ b"}], "own: alu_operations: operation XOR: 'a @ b' is no"),
        (OPERATIONS * 2, "own: alu_operations has a name twice"),
    ],
)
def test_custom_operations_that_are_refused(operations: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(json.dumps({"alu_operations": operations}), "own")
    assert str(caught.value).startswith(words)
