"""What is said about supported operators is so."""

from __future__ import annotations

from pathlib import Path

from onnx import defs

from tandem.compiler.frontends.onnx.operators import CONVERTERS
from tests.compiler.frontends.onnx.operator_table import table

PAGE = Path(__file__).parents[4] / "docs" / "operators.md"


def test_the_page_has_the_table() -> None:
    """If not: `python -m tests.compiler.frontends.onnx.operator_table`."""
    assert table() in PAGE.read_text()


def test_versions() -> None:
    """Every version is taken, and no other."""
    known: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        if name in CONVERTERS and not schema.deprecated:
            known.setdefault(name, []).append(schema.since_version)
    own = {name for name, each in CONVERTERS.items() if each.definition is not None}
    assert known.keys() == CONVERTERS.keys() - own
    for name, versions in known.items():
        assert list(CONVERTERS[name].versions) == sorted(versions), name
