"""Formats by the names of options."""

from __future__ import annotations

import pytest

from tandem.compiler.quantise.weight_kinds import DEFAULT_GROUP, GROUPS, WeightKind
from tandem.hw.weight_formats import FORMATS


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("int8", False),
        ("int4", True),
        ("mxfp4", True),
        ("nf4", True),
        ("ternary", False),
        ("binary", False),
        ("auto", True),
    ],
)
def test_kinds(name: str, groups: bool) -> None:
    kind = WeightKind(name)
    assert kind.has_groups is groups
    if name in ("int8", "auto"):
        assert kind.form is None
    else:
        assert kind.form is not None
        assert kind.form.name == name


def test_every_format_has_a_kind() -> None:
    assert [kind.form for kind in WeightKind if kind.form is not None] == list(FORMATS)
    assert DEFAULT_GROUP in GROUPS
    assert list(GROUPS) == [16, 32, 64, 128]
