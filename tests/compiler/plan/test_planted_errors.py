"""Errors inside templates surface: none is taken for a refusal, after which the CPU would do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any, NoReturn, TypeAlias

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import CompilerError, LoweringError, Refusal, ReplayError, ScheduleError
from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.operators.shapes import Flatten
from tandem.compiler.machines.accelerator.intrinsics.base import fill
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.space import Space
from tandem.compiler.plan.target import Target
from tandem.compiler.te import compute
from tandem.compiler.te.knobs import Knob
from tandem.compiler.te.primitives import ComputeAt, Primitive, SetScope, Split, Tensorize
from tandem.compiler.te.schedule import Schedule
from tandem.runtime.artifact import Artifact, Provenance, streams_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import HOST
from tests.support.compiler.plan.quantised_graphs import Net

Template: TypeAlias = AcceleratorTemplate[Any]
Members: TypeAlias = dict[str, Callable[..., Any]]
TARGET = replace(accelerator(machine("small8")), settings=(("threads", (2, 1)),))
"""Choices are of the base space, whose sketches are changed here."""
NAMES = ("conv2d", "dense", "dense_wide", "max_pool", "global_average_pool", "elementwise")


@cache
def network(name: str) -> Function:
    """One layer, for the template of that name."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    match name:
        case "conv2d":
            y = net.conv("y", x, (16, 24), 3, 1, 1, skip=None)
        case "max_pool":
            y = net.max_pool("y", x)
        case "elementwise":
            y = net.add("y", x, x)
        case "global_average_pool":
            y = net.mean("y", x, 36)
        case _:
            flat = net.call("flat", "flatten", x, given=Flatten())
            make = net.dense if name == "dense" else net.logits
            y = make("y", flat, 16 * 36, 24)
    return net.function((1, 16, 6, 6), y)


def compiled(name: str, members: Members) -> Artifact:
    """The network, with its template's methods replaced: `members` are given the template's own
    method first."""
    (template,) = (each for each in TARGET.templates if each.name == name)

    def replaced(method: str, new: Callable[..., Any]) -> Callable[..., Any]:
        own = getattr(template, method)
        return lambda _, *args, **named: new(own, *args, **named)

    changed = {method: replaced(method, new) for method, new in members.items()}
    faulty = type("Faulty", (type(template),), changed)()
    templates = tuple(faulty if each is template else each for each in TARGET.templates)
    target: Target[Any] = replace(TARGET, templates=templates)
    return build(network(name), [target, HOST], Provenance("test"))


@pytest.mark.parametrize("name", NAMES)
def test_without_an_error(name: str) -> None:
    """The accelerator does it, and a template that is replaced by itself is the same."""
    artifact = compiled(name, {"sketch": lambda own, *args: own(*args)})
    assert [each.device for each in artifact.manifest.steps].count("accelerator") == 1
    (code,) = streams_of(artifact).values()
    assert len(code.layers) == 1


def test_a_refusal_is_no_error() -> None:
    def refuse(*_: Any) -> NoReturn:
        raise Refusal("kernels above 2x2")

    artifact = compiled("conv2d", {"bind": refuse})
    assert not streams_of(artifact)
    reasons = [getattr(each, "reason", "") for each in artifact.manifest.steps]
    assert any("kernels above 2x2" in each for each in reasons)


# Exceptions of Python ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method", "error"),
    [
        ("conv2d", "bind", KeyError),
        ("dense", "bind", AssertionError),
        ("elementwise", "bind", AttributeError),
        ("max_pool", "space", TypeError),
        ("dense_wide", "space", ValueError),
        ("conv2d", "usage", IndexError),
        ("global_average_pool", "usage", ZeroDivisionError),
        ("dense", "fits", OverflowError),
        ("conv2d", "shortlist", IndexError),
        ("elementwise", "estimate", FloatingPointError),
        ("max_pool", "estimate", KeyError),
        ("conv2d", "repacked", TypeError),
        ("dense_wide", "start", RecursionError),
        ("max_pool", "sketch", NotImplementedError),
        ("global_average_pool", "schedule", EOFError),
        ("dense", "macs", ZeroDivisionError),
        ("conv2d", "minimum_traffic", LookupError),
    ],
)
def test_exceptions(name: str, method: str, error: type[Exception]) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise error("planted")

    with pytest.raises(error, match="planted"):
        compiled(name, {method: fail})


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_compiler(name: str) -> None:
    """Only `Refusal` refuses."""

    def fail(*_: Any) -> NoReturn:
        raise ScheduleError("split(out, oc, 4)", "planted")

    for method in ("bind", "fits", "sketch"):
        with pytest.raises(ScheduleError, match="planted"):
            compiled(name, {method: fail})


# Wrong sketches ----------------------------------------------------------------------------------


def first(kind: type[Primitive], **changes: Any) -> Callable[..., Any]:
    """A sketch of which the first primitive of a kind is changed."""

    def sketch(own: Callable[..., Any], *args: Any) -> Any:
        steps = list(own(*args))
        at = next(number for number, step in enumerate(steps) if isinstance(step, kind))
        steps[at] = replace(steps[at], **changes)
        return tuple(steps)

    return sketch


def without(*kinds: type[Primitive]) -> Callable[..., Any]:
    """A sketch without primitives of some kinds."""

    def sketch(own: Callable[..., Any], *args: Any) -> Any:
        return tuple(step for step in own(*args) if not isinstance(step, kinds))

    return sketch


def forgets_options(own: Callable[..., Any], *args: Any) -> Any:
    """A sketch whose splits have no option for any setting that is chosen."""

    def forgotten(step: Primitive) -> Primitive:
        values = ((field.name, getattr(step, field.name)) for field in fields(step))
        changes: dict[str, Any] = {
            name: Knob(value.name, (("nowhere", "oc"),))
            for name, value in values
            if isinstance(value, Knob) and value.options
        }
        return replace(step, **changes)

    return tuple(forgotten(step) if isinstance(step, Split) else step for step in own(*args))


@pytest.mark.every(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("sketch", "error"),
    [
        (first(Split, axis="nowhere"), ScheduleError),
        (first(Split, stage="nothing"), ScheduleError),
        (first(Split, factor=0), ReplayError),
        (first(Split, factor=Knob("spare")), ReplayError),
        (first(SetScope, scope=OnChip.INP), (ScheduleError, LoweringError)),
        (first(ComputeAt, reader="nothing"), ScheduleError),
        (first(ComputeAt, axis="nowhere"), ScheduleError),
        (first(Tensorize, axis="nowhere"), ScheduleError),
        (without(Tensorize), LoweringError),
        (lambda *_: (), ReplayError),
        (lambda *_: None, TypeError),
        (forgets_options, ReplayError),
    ],
)
def test_sketches(
    name: str, sketch: Callable[..., Any], error: type[Exception] | tuple[type[Exception], ...]
) -> None:
    with pytest.raises(error) as found:
        compiled(name, {"sketch": sketch})
    assert not isinstance(found.value, Refusal)


@pytest.mark.parametrize("name", NAMES)
def test_another_instruction(name: str) -> None:
    wrong = fill(machine("small8"), 5).function
    with pytest.raises(ScheduleError, match="tensorize"):
        compiled(name, {"sketch": first(Tensorize, intrinsic=wrong)})


# Wrong spaces, columns and costs -----------------------------------------------------------------


def fewer(own: Callable[..., Any], *args: Any) -> Space:
    knobs = dict(own(*args).knobs)
    knobs.pop("oc")
    return Space(knobs)


def more(own: Callable[..., Any], *args: Any) -> Space:
    return Space({**own(*args).knobs, "spare": (1, 2)})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("space", "error"), [(fewer, KeyError), (more, ReplayError)])
def test_knobs(name: str, space: Callable[..., Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        compiled(name, {"space": space})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("fits", lambda column: column[1:], "fits"),
        ("fits", lambda column: column.astype(np.int64), "fits"),
        ("fits", lambda _: True, "fits"),
        ("estimate", lambda column: column[1:], "costs"),
        ("estimate", lambda column: np.where(column > 0, np.nan, np.nan), "costs"),
        ("estimate", lambda column: column[:, None], "costs"),
        ("estimate", lambda _: 1.0, "costs"),
    ],
)
def test_columns(name: str, method: str, change: Callable[[Any], Any], message: str) -> None:
    def wrong(own: Callable[..., Any], *args: Any) -> Any:
        return change(own(*args))

    with pytest.raises(ScheduleError, match=message):
        compiled(name, {method: wrong})


# Wrong workloads and arguments -------------------------------------------------------------------


def bound(
    workload: Callable[[Any], Any] = lambda given: given,
    tensors: Callable[[dict[str, Any]], dict[str, Any]] = lambda given: given,
    immediates: Callable[[dict[str, int]], dict[str, int]] = lambda given: given,
) -> Members:
    """`bind`, of which something is changed."""

    def bind(own: Callable[..., Any], *args: Any) -> Any:
        found, arguments = own(*args)
        return workload(found), Arguments(
            tensors(dict(arguments.tensors)), immediates(dict(arguments.immediates))
        )

    return {"bind": bind}


def narrower(given: Any) -> Any:
    return replace(given, data=(*given.data[:3], given.data[3] - 1, *given.data[4:]))


def unhashable(given: Any) -> Any:
    (field, *_) = fields(given)
    return replace(given, **{field.name: [1, 2]})


@pytest.mark.parametrize("name", ["conv2d", "max_pool", "global_average_pool", "elementwise"])
def test_workloads_of_other_shapes(name: str) -> None:
    with pytest.raises(CompilerError, match="in the program of template") as found:
        compiled(name, bound(workload=narrower))
    assert not isinstance(found.value, Refusal)


@pytest.mark.parametrize("name", NAMES)
def test_workloads_that_are_none(name: str) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        compiled(name, bound(workload=unhashable))
    with pytest.raises(TypeError, match="cannot unpack"):
        compiled(name, {"bind": lambda *_: None})


@pytest.mark.parametrize("name", ["conv2d", "dense", "dense_wide"])
@pytest.mark.parametrize(
    "tensors",
    [
        lambda given: {**given, "weight": given["weight"][:-1]},
        lambda given: {**given, "weight": np.swapaxes(given["weight"], -1, -2)[..., :-1]},
        lambda given: {**given, "weight": given["weight"].astype(np.int32)},
        lambda given: {each: value for each, value in given.items() if each != "weight"},
        lambda given: {**given, "spare": given["weight"]},
    ],
)
def test_tensors(name: str, tensors: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with pytest.raises(CompilerError) as found:
        compiled(name, bound(tensors=tensors))
    assert not isinstance(found.value, Refusal)


@pytest.mark.parametrize("name", ["conv2d", "dense", "global_average_pool", "elementwise"])
@pytest.mark.parametrize(
    "immediates",
    [
        lambda _: {},
        lambda given: dict.fromkeys(given, 1 << 40),
        lambda given: {**given, "spare": 1},
    ],
)
def test_immediates(name: str, immediates: Callable[[dict[str, int]], dict[str, int]]) -> None:
    with pytest.raises(CompilerError) as found:
        compiled(name, bound(immediates=immediates))
    assert not isinstance(found.value, Refusal)


def test_another_program() -> None:
    def start(_: Any, workload: Any, *__: Any) -> Schedule:
        return Schedule.of(compute((1, 2), lambda i, j: i + j, "elsewhere"))

    with pytest.raises(ScheduleError):
        compiled("max_pool", {"start": start})
