"""Data types and `match`: text, types, refusals and evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tandem.compiler.errors import EvaluationError, GraphError, ParseError
from tandem.compiler.graph import (
    Arm,
    Body,
    Construct,
    Constructor,
    DataType,
    Declaration,
    Declarations,
    Function,
    FunctionKind,
    FunctionType,
    Let,
    Match,
    Param,
    TensorType,
    TupleType,
    Var,
)
from tandem.compiler.graph.data_types import (
    arguments_of,
    constructors_of,
    declare,
    is_recursive,
    reached,
)
from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import (
    BindSymbols,
    EliminateCommon,
    EliminateDead,
    FoldConstants,
    InferTypes,
    Inline,
    LiftFunctions,
    Unroll,
    transform,
)
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import Type, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import constants, functions
from tandem.compiler.ir.dtypes import FLOAT32
from tests.support.compiler.graph.data_types import (
    LAYERS,
    LIST,
    MAPPED,
    OPTION,
    PROGRAMS,
    ROSE,
    SUM,
    TREE,
)
from tests.support.compiler.graph.graphs import agree, graph, same_values

X = TensorType((2,), FLOAT32)


def scalars(*values: float) -> list[np.ndarray[tuple[()], np.dtype[np.float32]]]:
    return [np.array(value, np.float32) for value in values]


@pytest.mark.parametrize("program", PROGRAMS)
def test_text_is_read_back(program: str) -> None:
    module = parse(program, OPERATORS)
    assert text(module) == program
    assert parse(text(module), OPERATORS) == module
    for changed in (InferTypes().apply(graph(program)), EliminateDead().apply(graph(program))):
        found = parse_function(text(changed), OPERATORS, constants(changed))
        assert found == changed
        assert text(found) == text(changed)


def test_every_form() -> None:
    program = """\
type Pair[A, B] = Pair(A, B)
type Chain[T] = End | Link((T, T), Chain[T])
type match = type(Chain[Pair[int8[], int8[2]]]) | else_(fn(int8[]) -> int8[])

func @f(match: int8[], type: int8[2]) -> int8[]:
  pair = Pair(match, type)
  both = (pair, pair)
  end = End[Pair[int8[], int8[2]]]()
  Link = Link[Pair[int8[], int8[2]]](both, end)
  End = (Link, pair)
  first = End[0]
  whole: match = type(first)
  r = match whole:
    type(chain):
      s = match chain:
        End:
          yield match
        Link(two, others):
          one = two[0]
          t = match one:
            Pair(a, b):
              yield a
          yield t
      yield s
    else:
      yield match
  return r
"""
    function = graph(program)
    assert text(function) == program
    values = [type(let.value) for let in function.body.lets]
    assert values.count(Construct) == 4
    assert values[-1] is Match
    types = verify(function)
    assert str(types["Link"]) == "Chain[Pair[int8[], int8[2]]]"
    assert str(types["two"]) == "(Pair[int8[], int8[2]], Pair[int8[], int8[2]])"
    given = [np.array(3, np.int8), np.array([1, 2], np.int8)]
    same_values(evaluate(function, given), np.array(3, np.int8))


def test_evaluation() -> None:
    for n in (0, 1, 7, 40):
        given = [np.array(n), np.array(5)]
        same_values(evaluate(graph(SUM), given), np.array(5 + n * (n + 1) // 2))
    x = np.array([1, -3], np.float32)
    for n in (0, 1, 5):
        same_values(evaluate(graph(TREE), [np.array(n), x]), x * np.float32((-1) ** n))
    # Each tree of the forest holds the forest after it.
    for n, wanted in ((0, 0), (1, 2), (2, 7), (3, 20)):
        same_values(evaluate(graph(ROSE), [np.array(n)]), np.array(wanted))
    for (left, right), wanted_pair in (
        ((4, 3), (6, 2)),
        ((-4, 3), (9, 3)),
        ((-4, -3), (0, -3)),
    ):
        found = evaluate(graph(OPTION), scalars(left, right))
        same_values(found, tuple(scalars(*wanted_pair)))
    for n in range(4):
        found = evaluate(graph(MAPPED), [np.array(n), *scalars(2), x])
        same_values(found, _folded(n, 2, x))
    same_values(evaluate(graph(LAYERS), [*scalars(3), x]), np.array([9, 0], np.float32))


def _folded(
    n: int, c: float, x: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """What `MAPPED` computes."""
    rows = [x * np.float32(2**at) for at in range(n)][::-1]
    found = x
    for row in rows:
        found = row * np.float32(c) - found
    return found


def test_a_match_that_ends_a_function_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 3)
    same_values(evaluate(graph(SUM), [np.array(20), np.array(0)]), np.array(210))
    with pytest.raises(EvaluationError, match="function grow: more than 3 calls wait"):
        evaluate(graph(TREE), [np.array(20), np.ones(2, np.float32)])


def test_observers_see_fields_and_no_values_of_data_types() -> None:
    seen: list[tuple[str, str]] = []
    evaluate(
        graph(SUM),
        [np.array(2), np.array(0)],
        observe=lambda function, name, _: seen.append((function, name)),
    )
    assert ("sum", "head") in seen
    assert ("sum", "tail") not in seen
    assert ("main", "all") not in seen


def test_what_declarations_say() -> None:
    declared = parse(ROSE, OPERATORS).declared
    tree, forest = DataType("Tree", (), declared), DataType("Forest", (), declared)
    assert reached(tree) == (tree, forest)
    assert is_recursive(tree)
    assert [each.name for each in constructors_of(forest)] == ["Empty", "More"]
    option = parse(OPTION, OPERATORS).declared
    some = DataType("Option", (X,), option)
    assert not is_recursive(some)
    assert [str(each) for each in constructors_of(some)] == ["None", "Some(float32[2])"]
    nested = DataType("Option", (some,), option)
    assert str(nested) == "Option[Option[float32[2]]]"
    assert not is_recursive(nested)
    assert set(reached(nested)) == {nested, some}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = Nil()", r"main: y: Nil\(\) leaves T of List open: say the types, as Nil\[float32\["),
        ("y = Nil[float32[], int8[]]()", "main: y gives Nil 2 types, and List takes 1"),
        (
            "y = Cons(x, x)",
            r"main: y calls Cons\(float32\[2\], float32\[2\]\), which is Cons\(T, L",
        ),
        ("y = Cons(x)", r"main: y calls Cons\(float32\[2\]\), which is Cons\(T, List\[T\]\)"),
        (
            "n = Nil[int8[]]()\n  y = Cons(x, n)",
            r"main: y calls Cons\(float32\[2\], List\[int8\[\]\]\), which is Cons\(T, List\[T\]\)",
        ),
        (
            "n = Nil[int8[]]()\n  y = Cons[int8[]](x, n)",
            r"main: y calls Cons\(float32.*, which is Cons\(int8\[\], List\[int8\[\]\]\)",
        ),
        (
            "y: List[int8[]] = Nil[float32[]]()",
            r"main: y is List\[float32\[\]\], and is declared a",
        ),
        (
            "y = match x:\n    Nil:\n      yield x",
            r"main: y matches x, which is float32\[2\] and no",
        ),
        (
            "y = match z:\n    Nil:\n      yield x",
            "main: y uses z, which is defined nowhere before",
        ),
        (
            "y = match all:\n    Nil:\n      yield x",
            r"main: y: a match of List\[float32\[2\]\] lacks Cons",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Nil:\n      yield x",
            "main: the arm Nil of y is never reached: others come before it",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Cons(a, b):\n      yield a\n"
            "    else:\n      yield x",
            "main: the arm else of y is never reached: others come before it",
        ),
        (
            "y = match all:\n    else:\n      yield x\n    Nil:\n      yield x",
            "main: the arm Nil of y is never reached: others come before it",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Leaf:\n      yield x",
            r"main: y: List\[float32\[2\]\] has no constructor Leaf: Nil, Cons are allowed",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Cons(a):\n      yield a",
            r"main: the arm Cons of y names 1 fields, and Cons\(float32\[2\], List\[float32\[2",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Cons(a, b):\n      yield b",
            r"main: y is float32\[2\] for Nil, and List\[float32\[2\]\] for Cons",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Cons(a, b):\n      yield a\n"
            "  z = relu(a)",
            "main: z uses a, which is defined only inside another body",
        ),
        (
            "y = match all:\n    Nil:\n      yield a\n    Cons(a, b):\n      yield a",
            "main: the result uses a, which is defined nowhere before",
        ),
        (
            "y = match all:\n    Nil:\n      yield x\n    Cons(x, b):\n      yield x",
            "main: two values are called x",
        ),
        ("y = relu(all)", r"main: y = relu\(...\): x is List\[float32\[2\]\]"),
    ],
)
def test_programs_that_are_refused(line: str, message: str) -> None:
    head = f"{LIST}\nfunc @main(x: float32[2], all: List[float32[2]]):\n"
    with pytest.raises(GraphError, match=f"function {message}"):
        verify(parse_function(f"{head}  {line}\n  return x", OPERATORS))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("type A = B | B", "line 1, column 1: two constructors are called B"),
        ("type A = B\ntype C = B", "line 1, column 1: two constructors are called B"),
        ("type A = B\ntype A = C", "line 2, column 1: found another type A, expected a new name"),
        ("type A[T, T] = B", "line 1, column 7: found no name or one twice, or that of a data"),
        ("type A[] = B", "line 1, column 7: found no name or one twice, or that of a data"),
        ("type A[A] = B(A)", "line 1, column 1: type A: a parameter has the name of another, or"),
        ("type A = B(C)", "line 1, column 12: found 'C', expected a type"),
        ("type A[T] = B(A)", r"line 1, column 16: found '\)', expected '\['"),
        ("type A[T] = B(A[T, T])", "line 1, column 15: found 'A' of 2 types, expected 1"),
        ("type A[T] = B(T[2])", r"line 1, column 16: found '\[', expected ',' or '\)'"),
        (
            "type A = B(float32[N])",
            r"line 1, column 1: type A: a field of B is float32\[N\]: exten",
        ),
        ("type A[T] = B(A[(T, T)])", "line 1, column 1: type A: its fields have ever more types"),
        ("type A = add(int8[])", "line 1, column 10: found 'add', an operator, expected a constru"),
        ("type A = fun(int8[])", "line 1, column 1: type A: 'fun' is no name"),
        ("type A = ", "line 1, column 9: found the end of the line, expected a constructor's na"),
        ("type A = B C", r"line 1, column 12: found 'C', expected '|' or the end of the line"),
        ("type float32 = B", "line 1, column 6: found 'float32', expected the type's name"),
        ("type A = else", "line 1, column 10: found 'else', expected a constructor's name"),
        (
            "type A = B\nfunc @f[A](x: A[2]):\n  return x",
            "line 2, column 8: found no name or one twice, or that of a data type, expected na",
        ),
        ("func @f(x: A):\n  return x", "line 1, column 12: found 'A', expected a type"),
        (
            "func @f():\n  return int8[](1)\n\ntype A = B",
            "line 4, column 1: found 'type', expected one of func, kernel, stream",
        ),
        (
            "type A = B\nfunc @f():\n  b = B[int8[]]\n  return b",
            r"line 3, column 16: found the end of the line, expected '\('",
        ),
        (
            "type A = B\nfunc @f(a: A):\n  b = match a:\n  return b",
            "line 4, column 3: found 'return', expected an arm, indented",
        ),
        (
            "type A = B\nfunc @f(a: A):\n  b = match a:\n    if:\n      yield a\n  return b",
            "line 4, column 5: found 'if', expected a constructor's name, or 'else'",
        ),
        (
            "type A = B\nfunc @f(a: A):\n  b = match a:\n    B:\n      return a\n  return b",
            "line 5, column 7: found 'return', expected a value's name, or 'yield'",
        ),
        (
            "type A = B\nfunc @f(a: A):\n  b = match B():\n    B:\n      yield a\n  return b",
            r"line 3, column 14: found '\(', expected ':'",
        ),
    ],
)
def test_texts_that_are_refused(head: str, message: str) -> None:
    more = "" if "func" in head else "\nfunc @f(x: int8[]):\n  return x\n"
    with pytest.raises(ParseError, match=message):
        parse(head + more, OPERATORS)


def test_programs_take_and_give_no_values_of_data_types() -> None:
    head = "type A = B(int8[]) | C\n"
    with pytest.raises(GraphError, match="function f takes a, which is A: programs take tensors"):
        evaluate(graph(head + "func @f(a: A):\n  return a"), [])
    with pytest.raises(GraphError, match=r"function f gives \(A,\): programs give tensors"):
        evaluate(graph(head + "func @f():\n  a = C()\n  b = (a,)\n  return b"), [])


def test_what_no_text_can_say() -> None:
    declared = declare([Declaration("A", (), (Constructor("B", (X,)), Constructor("C")))])
    other = declare([Declaration("A", (), (Constructor("C"), Constructor("B", (X,))))])
    a = DataType("A", (), declared)
    params = (Param("x", X),)

    def of(*lets: Let, kind: FunctionKind = FunctionKind.FUNC, target: str = "") -> Function:
        return Function("f", params, Body(lets, Var("x")), None, kind, target)

    made = Let("y", Construct("B", declared, (Var("x"),)))
    arms = (Arm("B", ("z",), Body((), Var("z"))), Arm(None, (), Body((), Var("x"))))
    matched = Let("m", Match(Var("y"), arms))
    verify(of(made, matched))
    for function, message in (
        (of(Let("y", Construct("D", declared, ()))), "function f: y calls D, which no data type"),
        (of(made, Let("z", Construct("C", other, ()))), "function f has data types of another t"),
        (of(Let("y", Construct("C", declared, ()), DataType("A"))), "data type that is not decla"),
        (of(Let("y", Construct("C", declared, ()), DataType("D", (), declared))), "D is not decl"),
        (of(Let("y", Construct("C", declared, ()), DataType("A", (X,), declared))), "is not decl"),
        (of(made, matched, kind=FunctionKind.KERNEL), "kernel f: y is no operator, no tuple and"),
        (of(made, kind=FunctionKind.STREAM, target="cpu"), "stream f: y is no call of a kernel f"),
        (
            of(made, Let("m", Match(Var("y"), (Arm(None, ("z",), Body((), Var("x"))),)))),
            "function f: the arm else of m names 1 fields, and else has 0",
        ),
        (of(made, Let("m", Match(Var("y"), ()))), "function f: m: a match of A lacks B, C"),
        (
            of(made, Let("m", Match(Var("y"), (replaced_name(arms[0], "1"), arms[1])))),
            "function f: '1' is no name for a value",
        ),
    ):
        with pytest.raises(GraphError, match=message):
            verify(function)
    assert infer(of(made, matched))["y"] == a
    for declarations, message in (
        ([Declaration("A", (), ())], "type A has no constructors"),
        ([Declaration("A", (), (Constructor("B", (DataType("C"),)),))], "B is C, and C is not dec"),
        ([Declaration("1", (), (Constructor("B"),))], "type 1: '1' is no name"),
        ([Declaration("A", (), (Constructor("B"),))] * 2, "two types are called A"),
        (
            [Declaration("A", ("T",), (Constructor("B", (DataType("A"),)),))],
            "a field of B is A, and A takes 1 types",
        ),
        (
            [Declaration("A", ("T",), (Constructor("B", (DataType("T", (X,)),)),))],
            r"a field of B is T\[float32\[2\]\], and T takes 0 types",
        ),
    ):
        with pytest.raises(GraphError, match=message):
            declare(declarations)
        with pytest.raises(GraphError, match=message):
            verify(of(Let("y", Construct("B", Declarations(tuple(declarations)), ()))))


def replaced_name(arm: Arm, name: str) -> Arm:
    return Arm(arm.constructor, (name,), Body((), Var(name)))


def test_declarations_are_equal_if_their_texts_are() -> None:
    one, same, other = (parse(each, OPERATORS).declared for each in (SUM, MAPPED, TREE))
    assert one == same
    assert hash(one) == hash(same)
    assert repr(one) == repr(same)
    assert one != other
    assert one != "List"
    assert TupleType((DataType("List", (X,), one),)) == TupleType((DataType("List", (X,), same),))


@pytest.mark.parametrize("program", PROGRAMS)
def test_passes_keep_data_types(program: str) -> None:
    """Each pass alone, whether it comes before or after."""
    start = graph(program)
    run = Interpreter()
    passes = (
        InferTypes(),
        LiftFunctions(),
        EliminateDead(),
        EliminateCommon(),
        FoldConstants(run),
        Unroll(run),
        BindSymbols(()),
        Inline(),
    )
    for work in passes:
        agree(start, transform(start, [work]))
    agree(start, transform(start, [*passes, *passes]))


def test_symbols_of_arguments_are_bound() -> None:
    start = graph(MAPPED.replace("float32[2]", "float32[K]"))
    bound = transform(start, [BindSymbols((("K", 3),))])
    assert not any(symbols_of(type_) for each in functions(bound) for type_ in infer(each).values())
    arrays: Sequence[np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = [
        np.array(3),
        *scalars(2),
        np.array([1, 2, -3], np.float32),
    ]
    same_values(evaluate(bound, arrays), evaluate(start, arrays))


def test_what_the_fields_of_a_constructor_say_of_a_type() -> None:
    """One part that does not fit is enough, wherever it lies."""
    one, other, third = (TensorType((extent,), FLOAT32) for extent in (1, 2, 3))
    a, b = DataType("A"), DataType("B")
    nested = DataType("T", (a, b))
    declaration = Declaration(
        "T",
        ("A", "B"),
        (
            Constructor("Pair", (TupleType((a, one, b)),)),
            Constructor("Apply", (FunctionType((a, one, a), b),)),
            Constructor("Again", (a, nested)),
        ),
    )
    declared = declare((declaration,))

    def said(constructor: str, *fields: Type) -> dict[str, Type] | None:
        return arguments_of(declaration, constructor, fields, declared)

    wanted = {"A": other, "B": third}
    assert said("Pair", TupleType((other, one, third))) == wanted
    assert said("Pair", TupleType((other, third, third))) is None
    assert said("Pair", TupleType((other, one))) is None
    assert said("Pair", other) is None
    assert said("Apply", FunctionType((other, one, other), third)) == wanted
    assert said("Apply", FunctionType((other, one, third), third)) is None
    assert said("Apply", FunctionType((other, third, other), third)) is None
    assert said("Apply", FunctionType((other, one), third)) is None
    assert said("Again", other, DataType("T", (other, third), declared)) == wanted
    assert said("Again", other, DataType("T", (one, third), declared)) is None
    assert said("Again", other, DataType("U", (other, third), declared)) is None
    assert said("Again", other) is None
