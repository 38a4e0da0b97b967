"""Attributes of nodes: given ones, defaults, and what is refused of each kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper, numpy_helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.node_attributes import NodeAttributes
from tandem.compiler.graph.attributes import Attributes

WHERE = "node n (Op)"


def undefined(name: str) -> AttributeProto:
    """An attribute that a definition declares without a default."""
    return AttributeProto(name=name)


def node(*given: AttributeProto, declared: tuple[AttributeProto, ...] = ()) -> NodeAttributes:
    defaults = {each.name: each for each in declared}
    return NodeAttributes(WHERE, {each.name: each for each in given}, defaults)


def refused(message: str) -> pytest.RaisesExc[Any]:
    return pytest.raises(FrontendError, match=f"^{re.escape(f'{WHERE}: {message}')}$")


GRAPH = helper.make_graph([], "g", [], [])
ARRAY = np.array([[1, 2], [3, 4]], np.int32)
KINDS: list[tuple[Callable[[NodeAttributes], object], object, object]] = [
    (lambda it: it.integer("a"), 7, 7),
    (lambda it: it.integer("a"), 0, 0),
    (lambda it: it.real("a"), 0.5, 0.5),
    (lambda it: it.real("a"), 0.0, 0.0),
    (lambda it: it.text("a"), "word", "word"),
    (lambda it: it.word("a", {"x", "y"}), "y", "y"),
    (lambda it: it.integers("a"), [3, 1], (3, 1)),
    (lambda it: it.reals("a"), [0.5, 2.0], (0.5, 2.0)),
    (lambda it: it.texts("a"), ["u", "v"], ("u", "v")),
    (lambda it: it.graph("a").name, GRAPH, "g"),
]


@pytest.mark.parametrize(("read", "written", "wanted"), KINDS)
def test_given_ones(
    read: Callable[[NodeAttributes], object], written: object, wanted: object
) -> None:
    attribute = helper.make_attribute("a", written)
    assert read(node(attribute)) == wanted
    assert read(node(declared=(attribute,))) == wanted
    # What a node sets counts more than the default.
    other = helper.make_attribute("a", "default")
    assert read(node(attribute, declared=(other,))) == wanted
    wrong = helper.make_attribute("a", GRAPH if written is not GRAPH else 1)
    with refused("attribute a is of another type"):
        read(node(wrong))
    wrong = AttributeProto(name="a", type=attribute.type, ref_attr_name="outer")
    with refused("attribute a refers to outer of no function"):
        read(node(wrong))


def test_missing_ones() -> None:
    for empty in (node(), node(declared=(undefined("a"),))):
        assert empty.integer("a", 3) == 3
        assert empty.real("a", 0.5) == 0.5
        assert empty.text("a", "x") == "x"
        assert empty.word("a", ("x",), "x") == "x"
        assert empty.integers("a") is None
        assert empty.tensor("a") is None
        assert empty.reals("a") == ()
        assert empty.texts("a") == ()
        for read in (empty.integer, empty.real, empty.text, empty.graph):
            with refused("attribute a is missing"):
                read("a")
    given = node(helper.make_attribute("a", 0))
    assert given.integer("a", 3) == 0


def test_words_and_numbers_that_are_not_allowed() -> None:
    with refused("a is 'z'"):
        node(helper.make_attribute("a", "z")).word("a", {"x", "y"})
    with refused("attribute a is NaN"):
        node(helper.make_attribute("a", float("nan"))).real("a")
    assert node(helper.make_attribute("a", float("inf"))).real("a") == float("inf")
    bad = AttributeProto(name="a", type=AttributeProto.STRING, s=b"\xff")
    assert node(bad).text("a") == "\ufffd"


def test_tensors() -> None:
    given = helper.make_attribute("a", numpy_helper.from_array(ARRAY))
    found = node(given).tensor("a")
    assert found is not None
    np.testing.assert_array_equal(found, ARRAY)
    assert found.dtype == np.int32
    given.t.data_type = 8
    message = f"{WHERE}: attribute a is of the type string: the types that are supported are "
    with pytest.raises(UnsupportedError, match=f"^{re.escape(message)}"):
        node(given).tensor("a")


def test_names() -> None:
    found = node(helper.make_attribute("b", 1), declared=(undefined("a"),))
    assert found.given() == ("b",)
    assert found.has("a")
    assert not found.has("b")


class Mode(Enum):
    """Two words."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Kinds(Attributes):
    """A field of each kind."""

    count: int = 1
    flag: bool = False
    ratio: float = 0.5
    sizes: tuple[int, ...] | None = (9,)
    mode: Mode = Mode.LEFT


def test_attributes_of_the_graph() -> None:
    names = ("count", "flag", "ratio", "sizes", "mode")
    values = (5, 1, 0.25, [2, 3], "right")
    given = [helper.make_attribute(*pair) for pair in zip(names, values, strict=True)]
    declared = tuple(map(undefined, names))
    found = node(*given, declared=declared).attributes(Kinds)
    assert found == Kinds(5, True, 0.25, (2, 3), Mode.RIGHT)
    assert found.flag is True
    # What the definition does not have keeps the graph's default.
    assert node(*given).attributes(Kinds) == Kinds()
    assert node(*given, declared=declared[:2]).attributes(Kinds) == Kinds(5, True)
    open_ = node(declared=(undefined("sizes"),)).attributes(Kinds)
    assert open_.sizes is None
    with refused("attribute mode is 'up'"):
        wrong = helper.make_attribute("mode", "up")
        node(wrong, declared=declared[-1:]).attributes(Kinds)


def test_errors() -> None:
    empty = node()
    assert empty.needed(0, "no number") == 0
    with refused("no number"):
        empty.needed(None, "no number")
    with pytest.raises(UnsupportedError, match=r"^node n \(Op\): not supported: that$"):
        empty.unsupported("that")
