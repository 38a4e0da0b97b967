"""Chains of two-way multiplexers choose what the parallel one did."""

from __future__ import annotations

import random
import re

import pytest

from tandem.hw.rtl.multiplexers import unfold_multiplexers

BEFORE = "  wire width 4 \\other\n  cell $add \\adder\n    connect \\Y \\other\n  end\n"
AFTER = "  connect \\last \\other\n"


def parallel(width: int, cases: int, name: str = "$procmux$7") -> str:
    """A `$pmux` as Yosys writes it."""
    return (
        f"  cell $pmux {name}\n"
        f"    parameter \\S_WIDTH {cases}\n"
        f"    parameter \\WIDTH {width}\n"
        "    connect \\A \\none_holds\n"
        "    connect \\B { \\some \\parts [3:0] }\n"
        "    connect \\S { \\conditions }\n"
        "    connect \\Y \\result\n"
        "  end\n"
    )


def evaluate(text: str, none_holds: int, values: int, conditions: int) -> int:
    """What drives `result`, cell by cell as they are written."""
    known = {"\\none_holds": none_holds}
    inputs = {"{ \\some \\parts [3:0] }": values, "{ \\conditions }": conditions}
    for target, source in re.findall(r"^  connect (\S+) (.*)$", text, re.M):
        known[target] = inputs[source]
    for body in re.findall(r"^  cell \$mux \S+\n(.*?)^  end$", text, re.M | re.S):
        parts = dict(re.findall(r"^    connect \\(\w) (.*)$", body, re.M))
        chosen = parts["B"] if slice_of(known, parts["S"]) else parts["A"]
        known[parts["Y"]] = slice_of(known, chosen)
    return known["\\result"]


def slice_of(known: dict[str, int], wire: str) -> int:
    """A wire, or some of its bits."""
    name, _, place = wire.partition(" ")
    if not place:
        return known[name]
    high, _, low = place.strip("[]").partition(":")
    low = low or high
    return known[name] >> int(low) & ((1 << (int(high) - int(low) + 1)) - 1)


@pytest.mark.parametrize(("width", "cases"), [(1, 1), (8, 2), (3, 5), (32, 17)])
def test_a_chain_chooses_the_same(width: int, cases: int) -> None:
    rng = random.Random(cases)
    text = unfold_multiplexers(BEFORE + parallel(width, cases) + AFTER)
    assert "$pmux" not in text
    chain = text.removeprefix(BEFORE).removesuffix(AFTER)
    assert chain != text
    assert chain.count("cell $mux ") == cases
    values = [rng.getrandbits(width) for _ in range(cases)]
    none_holds = rng.getrandbits(width)
    packed = sum(value << place * width for place, value in enumerate(values))
    assert evaluate(chain, none_holds, packed, 0) == none_holds
    for case, value in enumerate(values):
        assert evaluate(chain, none_holds, packed, 1 << case) == value


def test_each_wire_is_declared_before_its_use_and_once() -> None:
    text = unfold_multiplexers(parallel(4, 3, "$one") + parallel(4, 3, "$two"))
    declared = re.findall(r"^  wire width \d+ (\S+)$", text, re.M)
    assert len(set(declared)) == len(declared) == 2 * (2 + 2)
    cells = re.findall(r"^  cell \$mux (\S+)$", text, re.M)
    assert len(set(cells)) == len(cells) == 6
    for wire in declared:
        assert text.index(f" {wire}\n") < text.rindex(wire)


def test_a_text_without_any_stays_as_it_is() -> None:
    assert unfold_multiplexers(BEFORE + AFTER) == BEFORE + AFTER
