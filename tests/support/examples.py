"""How many examples of a property are drawn where one takes long."""

from __future__ import annotations

from hypothesis import settings


def examples(few: int, many: int) -> settings:
    """Settings with `few` examples by default, and `many` in the exhaustive tests."""
    exhaustive = settings.get_current_profile_name() == "exhaustive"
    return settings(max_examples=many if exhaustive else few)
