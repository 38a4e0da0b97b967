"""The examples in docstrings of the front door are so."""

from __future__ import annotations

import doctest
import sys

import pytest

import tandem

WITH_EXAMPLES = ("Accelerator", "Table", "compile", "compile_decoder", "disassemble", "load")


@pytest.mark.parametrize(
    "name",
    [
        # A decoder takes longest to be compiled.
        pytest.param(name, marks=[pytest.mark.exhaustive] * (name == "compile_decoder"))
        for name in WITH_EXAMPLES
    ],
)
def test_example(name: str) -> None:
    value = getattr(tandem, name)
    names = {**vars(sys.modules[value.__module__]), "tandem": tandem}
    (test,) = (
        found for found in doctest.DocTestFinder(recurse=False).find(value, name, globs=names)
    )
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0
