"""Operations of the ALU as an axis of a space: its machines, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from tandem.compiler.errors import SpaceError
from tandem.compiler.search.operations_axis import FIELDS, Offered, with_operations
from tandem.compiler.search.space import Space, parse_space
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.errors import ConfigError
from tests.support.hw.found_machines import FOUND_FOR_PYNQ, PACKED_FOR_PYNQ

TINY: dict[str, Any] = {
    "base": "tiny",
    "fields": {
        "log_wgt_buffer": [8, 9],
        "features": [[], ["overwrite"], ["requantise", "input_operands"]],
    },
}
TWO = Offered("two.json", load_config("pynq").replace(alu_operations=FOUND_FOR_PYNQ, alu_stages=3))
ONE = Offered(
    "one.json", load_config("small8").replace(alu_operations=PACKED_FOR_PYNQ, alu_stages=4)
)


def space(**changes: Any) -> Space:
    return parse_space(json.dumps(TINY | changes), "mine")


def possible(of: Space) -> list[HardwareConfig]:
    """Every machine of a space."""
    found = []
    for indices in product(*(range(len(each.values)) for each in of.dimensions)):
        try:
            found.append(of.machine(indices))
        except ConfigError:
            continue
    return found


def test_each_machine_has_none_or_those_of_a_file() -> None:
    """All that are legal, and no others: two operations do not fit beside both extensions."""
    before, after = space(), with_operations(space(), [TWO, ONE])
    assert after.name == before.name
    assert after.size == 3 * before.size
    wanted = set()
    for machine in possible(before):
        wanted.add(machine)
        for offered in (TWO, ONE):
            own = {name: getattr(offered.config, name) for name in FIELDS}
            if offered is ONE or len(machine.features) < 2:
                wanted.add(machine.replace(**own))
    found = possible(after)
    assert {*found} == wanted
    assert len(found) == len(wanted) == 6 + 4 + 6
    # Nothing else of the machines that offer them is in the space.
    assert {machine.log_block_in for machine in found} == {load_config("tiny").log_block_in}
    for machine in found:
        indices = after.indices(machine)
        assert indices is not None
        assert after.machine(indices) == machine


def test_it_is_a_field_of_files() -> None:
    found = with_operations(space(), [ONE])
    again = parse_space(json.dumps(found.as_json()), "mine")
    assert again == found
    assert found.as_json()["fields"] == {
        **TINY["fields"],
        "features": [sorted(names) for names in TINY["fields"]["features"]],
        "alu_operations,alu_stages": [
            [[], 1],
            [[operation.to_json() for operation in PACKED_FOR_PYNQ], 4],
        ],
    }


def test_the_operations_of_the_base_are_one_choice() -> None:
    base = json.loads(json.dumps({"alu_operations": [PACKED_FOR_PYNQ[0].to_json()]}))
    found = with_operations(space(base=base, fields={"bus_bits": [64, 128]}), [TWO])
    assert {machine.alu_operations for machine in possible(found)} == {
        PACKED_FOR_PYNQ,
        FOUND_FOR_PYNQ,
    }


def test_without_an_offer() -> None:
    assert with_operations(space(), []) == space()


XOR = [{"name": "XOR", "result": "a ^ b"}]
EXTENDED = {"features": [["requantise", "input_operands"]], "log_wgt_buffer": [8, 9]}
THREE = Offered(
    "three.json",
    TWO.config.replace(
        alu_operations=(*FOUND_FOR_PYNQ, *map(CustomOperation.from_json, XOR)),
    ),
)


@pytest.mark.parametrize(
    ("of", "offered", "message"),
    [
        (
            space(),
            [Offered("none.json", load_config("tiny"))],
            "none.json: the machine tiny has no alu_operations to offer; `tandem discover -o FILE` "
            "finds some",
        ),
        (space(), [TWO, ONE, TWO], "two.json has the operations of two.json"),
        (
            space(),
            [
                TWO,
                Offered(
                    "other.json",
                    load_config("tiny").replace(alu_operations=FOUND_FOR_PYNQ, alu_stages=3),
                ),
            ],
            "other.json has the operations of two.json",
        ),
        (
            space(
                base={"alu_operations": [one.to_json() for one in FOUND_FOR_PYNQ], "alu_stages": 3}
            ),
            [TWO],
            "two.json has the operations of the base of the space mine",
        ),
        (
            space(fields=EXTENDED),
            [ONE, TWO],
            "two.json has 2 alu_operations: machines of the space mine have opcodes for 1 at most",
        ),
        (
            space(base={"features": ["input_operands"]}, fields={"bus_bits": [64]}),
            [THREE],
            "three.json has 3 alu_operations: machines of the space mine have opcodes for 2 at "
            "most",
        ),
        (
            space(fields={"alu_operations": [[], XOR]}),
            [ONE],
            "space mine has the field alu_operations already: operations of one.json cannot be a "
            "second one",
        ),
        (
            space(base={"alu_operations": XOR}, fields={"alu_stages": [1, 2]}),
            [ONE],
            "space mine has the field alu_stages already: operations of one.json cannot be a "
            "second one",
        ),
    ],
)
def test_refusals(of: Space, offered: Sequence[Offered], message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        with_operations(of, offered)
    assert str(caught.value) == message
