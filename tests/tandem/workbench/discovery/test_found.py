"""What a search came to: ratios, and its JSON."""

from __future__ import annotations

import json

from tests.support.workbench.found_operations import found_operations


def test_ratios() -> None:
    own, other = found_operations().networks
    assert (own.ratio, own.alu_share, own.reached) == (0.9, 0.2, 0.5)
    assert (other.ratio, other.reached) == (1.0, None)


def test_slower() -> None:
    assert found_operations().slower == ()
    assert found_operations("digits", 1001).slower == ("digits",)


def test_json() -> None:
    found = json.loads(json.dumps(found_operations().as_json()))
    (operation,) = found["operations"]
    assert operation["expression"] == "int32(a + b) >> shift"
    assert operation["parameters"] == {"shift": "uint5"}
    assert operation["proved"] is True
    assert operation["area"] == {"lut": 120, "dsp": 0, "share": 0.0125}
    assert [one["held_out"] for one in found["networks"]] == [False, True]
    assert found["networks"][0]["before"] == 1000
    assert found["networks"][0]["after"] == 900
    assert found["area"]["source"] == "synthesis"
    assert found["front"][1]["operations"] == []
    assert found["dropped"] == 2
    (passes,) = found["passes"]
    assert (passes["requantisation"], passes["residuals"], passes["windows"]) == (60, 20, 110)
    assert passes["dropped"] == [
        "counts: reductions take 110 cycles, 90 of them a term each: no more than 25 can be saved",
        "counts: copies and passes over them take 10 cycles: no more than 5 can be saved",
    ]
