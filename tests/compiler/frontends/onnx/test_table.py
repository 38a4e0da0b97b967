"""What is said about supported operators is so."""

from __future__ import annotations

from pathlib import Path

from onnx import defs

from compiler.frontends.onnx.operators import CONVERTERS
from compiler.frontends.onnx.reading import OLDEST
from tests.support.operator_table import table

PAGE = Path(__file__).parents[4] / "docs" / "operators.md"


def test_the_page_has_the_table() -> None:
    """If not: `python -m tests.support.operator_table`."""
    assert table() in PAGE.read_text()


def test_versions() -> None:
    """Every version that a model of a supported opset may mean is taken, and no other."""
    known: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        if name in CONVERTERS and not schema.deprecated:
            known.setdefault(name, []).append(schema.since_version)
    assert known.keys() == CONVERTERS.keys()
    for name, versions in known.items():
        # Of those before the oldest opset the last one is still in force.
        first = max((each for each in versions if each <= OLDEST), default=0)
        wanted = sorted(each for each in versions if each >= first)
        assert list(CONVERTERS[name].versions) == wanted, name
