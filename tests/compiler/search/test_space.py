"""Spaces of machines: files, presets, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tandem.compiler.errors import SpaceError
from tandem.compiler.search.space import load_space, parse_space, space_names
from tandem.hw.config_files import load_config
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature

TINY: dict[str, Any] = {
    "base": "tiny",
    "fields": {
        "log_block_in,log_block_out": [[2, 2], [3, 3]],
        "log_wgt_buffer": [8, 9],
        "features": [[], ["overwrite"]],
    },
}


def changed(**changes: Any) -> str:
    return json.dumps(TINY | changes)


@pytest.mark.parametrize("name", space_names())
def test_spaces_that_come_with_tandem_are_read(name: str) -> None:
    space = load_space(name)
    assert parse_space(json.dumps(space.as_json()), name) == space
    assert space.size > 10**6


def test_a_machine_has_the_values_of_its_indices() -> None:
    space = parse_space(json.dumps(TINY), "mine")
    machine = space.machine([1, 0, 1])
    assert (machine.log_block_in, machine.log_block_out, machine.log_wgt_buffer) == (3, 3, 8)
    assert machine.features == {Feature.OVERWRITE}
    assert machine.longest_burst == load_config("tiny").longest_burst
    assert space.size == 8


def test_a_machine_is_found_again() -> None:
    space = parse_space(json.dumps(TINY), "mine")
    for indices in ((0, 0, 0), (1, 1, 1)):
        assert space.indices(space.machine(indices)) == indices
    assert space.indices(load_config("tiny")) == (0, 0, 0)
    assert space.indices(load_config("pynq")) is None
    assert space.indices(load_config("tiny").replace(longest_burst=4)) is None


def test_what_the_configuration_refuses_is_no_machine() -> None:
    fields = {"log_wgt_buffer": [1]}
    with pytest.raises(ConfigError, match="fewer than two elements"):
        parse_space(changed(fields=fields), "mine").machine([0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a JSON object with the key fields"),
        ("{", "not a JSON text"),
        (changed(more=1), "unknown key 'more'; known: base, fields, limits"),
        (changed(base="none"), "base: 'none' is neither a preset"),
        (changed(base={"log_batch": 99}), "log_batch is 99"),
        (changed(fields={}), "it has no fields"),
        (changed(fields={"name": ["a"]}), "has no field 'name'"),
        (changed(fields={"bus_bits": []}), "must be a list of values"),
        (changed(fields={"bus_bits": [64, 64]}), "bus_bits has a value twice"),
        (changed(fields={"bus_bits": ["wide"]}), "must be a whole number"),
        (changed(fields={"bus_bits": [True]}), "must be a whole number"),
        (changed(fields={"features": [["fast"]]}), "a list of overwrite, requantise"),
        (changed(fields={"log_inp_buffer,bus_bits": [[8]]}), "2 values"),
        (changed(fields={"bus_bits": [64], "bus_bits,log_batch": [[64, 0]]}), "there twice"),
        (changed(limits={"device": "XC1"}), "no device 'XC1'; known: LFE5U-25F"),
        (changed(limits={"area": "small"}), "NAND2 equivalents, a number"),
        (changed(limits={"power": 1}), "device and area are known"),
        (changed(limits=[]), "device and area are known"),
        *(
            (changed(limits={"area": area}), "NAND2 equivalents, a number")
            for area in (0, -1, True, float("inf"))
        ),
        (changed(limits={"device": 3}), "no device 3; known: LFE5U-25F"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        parse_space(text, "mine")


def test_a_file_that_is_missing() -> None:
    with pytest.raises(SpaceError, match="neither one of asic, fpga, small nor a file"):
        load_space("nowhere.json")


XOR = {"name": "XOR", "result": "a ^ b"}
CLIP = {"name": "CLIP", "result": "min(a + b >> s, 127)", "parameters": {"s": "uint5"}}


def test_operations_are_a_field() -> None:
    choices = {"alu_operations,alu_stages": [[[], 1], [[XOR], 1], [[CLIP, XOR], 3]]}
    space = parse_space(changed(fields=choices), "mine")
    machines = [space.machine([number]) for number in range(3)]
    assert [[one.name for one in machine.alu_operations] for machine in machines] == [
        [],
        ["XOR"],
        ["CLIP", "XOR"],
    ]
    assert [space.indices(machine) for machine in machines] == [(0,), (1,), (2,)]
    assert parse_space(json.dumps(space.as_json()), "mine") == space
    based = parse_space(json.dumps(TINY | {"base": {"alu_operations": [XOR]}}), "based")
    assert parse_space(json.dumps(based.as_json()), "based") == based


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (XOR, "space mine: alu_operations: {'name': 'XOR', 'result': 'a ^ b'} is no list"),
        ([{"name": "XOR"}], "space mine: alu_operations: operation {'name': 'XOR'}: it has"),
    ],
)
def test_operations_that_are_refused(value: object, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        parse_space(changed(fields={"alu_operations": [value]}), "mine")
    assert str(caught.value).startswith(words)
