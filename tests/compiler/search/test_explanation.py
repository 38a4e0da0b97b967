"""The machines around one, as JSON."""

from __future__ import annotations

from tandem.compiler.search.explanation import Explanation, Step
from tests.support.compiler.search.search_points import points


def test_json() -> None:
    center, larger, *_ = points()
    steps = (
        Step(("bus_bits",), True, larger),
        Step(("load_buffer", "compute_buffer"), False, None, "none is smaller"),
    )
    assert Explanation(center, steps).as_json() == {
        "center": center.as_json(),
        "steps": [
            {"fields": ["bus_bits"], "step": "up", "point": larger.as_json(), "reason": None},
            {
                "fields": ["load_buffer", "compute_buffer"],
                "step": "down",
                "point": None,
                "reason": "none is smaller",
            },
        ],
    }
