"""What choices without costs say."""

from __future__ import annotations

from math import inf
from typing import Any

from tandem.compiler.plan.tuned_choices import TunedChoices
from tandem.compiler.te.knobs import Choice


class Repeated(TunedChoices):
    """A choice for one workload."""

    def choice(self, template: Any, workload: Any) -> Choice | None:
        return {"x": 1} if workload == "w" else None


def test_costs_are_not_known() -> None:
    known = Repeated()
    assert known.choice(None, "w") == {"x": 1}
    assert known.cost(None, "w") == inf
    assert known.knows(None) is True
    assert known != Repeated()
