from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.scripts.bench.features import TARGET, measure


def test_every_kind_of_template_is_measured() -> None:
    found = list(measure(load_config("tiny"), count=50))
    assert [each.name for each in found] == [
        "features, conv2d",
        "features, dense",
        "features, elementwise",
    ]
    assert all(each.value > 0 and each.target == TARGET for each in found)
