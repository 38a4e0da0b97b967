"""Streams: sequences of kernels that a target runs without the host in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    Let,
    Param,
    Tuple,
    TupleGet,
    Var,
)
from tandem.compiler.graph.operators.layouts import View
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import Type
from tandem.compiler.graph.visit import (
    atoms,
    functions,
    map_functions,
    names_of,
    rename,
    rewrite_bodies,
    substitute,
)
from tandem.compiler.plan.placement import placement_of


@dataclass(frozen=True, slots=True)
class FormStreams:
    """Puts consecutive kernels of a target into streams, after reordering.

    ::

        a = @f(x)                     stream[target] @stream(x: ...):
        c = @host_kernel(w)             a = @f(x)
        b = @g(a)             ->        b = @g(a)
                                        return b

                                      c = @host_kernel(w)
                                      b = @stream(x)

    Views of tensors take no instruction: they stand in each stream that reads them.

    For few streams, values are scheduled greedily: all ready values of the host, then all ready
    values of the target, and so on in turn. A stream would be empty whose kernels all only place
    tensors within others (`compiler.plan.placement`): the host runs these.
    """

    target: str
    name: str = "form-streams"

    def apply(self, function: Function) -> Function:
        """The function with streams."""
        taken = {each.name for each in functions(function)}

        def changed(one: Function) -> Function:
            types = infer(one)
            names = {*types}
            body = rewrite_bodies(one.body, lambda body: self._formed(body, types, taken, names))
            return replace(one, body=body)

        infer(function)
        return map_functions(function, changed)

    def _formed(
        self, body: Body, types: Mapping[str, Type], taken: set[str], names: set[str]
    ) -> Body:
        """The body with streams; `taken` are names of functions, `names` those of values."""
        result = body.result
        views = _views(body, self.target)
        runs = _runs([let for let in body.lets if let.name not in views], self.target, views)
        lets: list[Let] = []
        for number, (on_target, run) in enumerate(runs):
            if not on_target:
                lets += run
                continue
            if all(_only_moves(let) for let in run):
                lets += (_on_host(let) for let in _with_views(run, views, names))
                continue
            later = [let for _, other in runs[number + 1 :] for let in other]
            wanted = {each for let in later for each in _read(let, views)}
            wanted |= {result.name} if isinstance(result, Var) else set()
            outputs = [let.name for let in run if let.name in wanted]
            run = _with_views(run, views, names)
            inputs = _inputs(run)
            params = tuple(Param(each, types[each]) for each in inputs)
            name = unique_name("stream", taken)
            inner, results = _body(run, outputs, names)
            stream = Function(name, params, inner, kind=FunctionKind.STREAM, target=self.target)
            call = Call(stream, tuple(Var(each) for each in inputs))
            if results is None:
                lets.append(Let(outputs[0], call))
                continue
            lets.append(Let(results, call))
            lets += [Let(each, TupleGet(Var(results), at)) for at, each in enumerate(outputs)]
        return Body(tuple(lets), result)


def _body(run: Sequence[Let], outputs: Sequence[str], names: set[str]) -> tuple[Body, str | None]:
    """The body of a stream, and the name of its tuple of results if there are several."""
    if len(outputs) == 1:
        return Body(tuple(run), Var(outputs[0])), None
    whole = unique_name("results", names)
    items: tuple[Atom, ...] = tuple(Var(each) for each in outputs)
    return Body((*run, Let(whole, Tuple(items))), Var(whole)), whole


def _offloaded(let: Let, target: str) -> bool:
    match let.value:
        case Call(callee=Function(kind=FunctionKind.KERNEL) as kernel):
            return kernel.target == target
        case _:
            return False


def _only_moves(let: Let) -> bool:
    """Whether a call of a kernel of the target takes no instruction."""
    match let.value:
        case Call(callee=Function() as kernel):
            return placement_of(kernel) is not None
        case _:
            return False


def _on_host(let: Let) -> Let:
    """A kernel's call with the kernel on the host; a view as it is."""
    call = let.value
    assert isinstance(call, Call), "a kernel's, or a view"
    if not isinstance(call.callee, Function):
        return let
    on_host = replace(call.callee, target="", template="")
    return replace(let, value=replace(call, callee=on_host))


def _inputs(run: Sequence[Let]) -> list[str]:
    own = {let.name for let in run}
    used = [each.name for let in run for each in atoms(let.value) if isinstance(each, Var)]
    return [each for each in dict.fromkeys(used) if each not in own]


def _views(body: Body, target: str) -> dict[str, Let]:
    """The views that only kernels of the target read, by name."""
    found = {
        let.name: let
        for let in body.lets
        if isinstance(let.value, Call) and isinstance(let.value.attributes, View)
    }
    others = (let for let in body.lets if not _offloaded(let, target))
    read = {name for let in others for name in names_of(let.value)}
    if isinstance(body.result, Var):
        read.add(body.result.name)
    return {name: let for name, let in found.items() if name not in read}


def _with_views(run: Sequence[Let], views: Mapping[str, Let], names: set[str]) -> list[Let]:
    """The calls of a stream after the views that they read, of which it has its own."""
    read = dict.fromkeys(name for let in run for name in sorted(names_of(let.value) & {*views}))
    own = {name: Var(unique_name(f"{name}_view", names)) for name in read}
    made = {let.name for let in run}
    first = [replace(views[name], name=var.name) for name, var in own.items()]
    outside = [let for let in first if not names_of(let.value) & made]
    lets = list(outside)
    waiting = [let for let in first if let not in outside]
    for let in run:
        lets.append(replace(let, value=rename(let.value, own)))
        ready = [view for view in waiting if let.name in names_of(view.value)]
        lets += ready
        waiting = [view for view in waiting if view not in ready]
    return lets


def _read(let: Let, views: Mapping[str, Let]) -> set[str]:
    """The names that a value reads, of a view what it is of."""
    return {
        source
        for name in names_of(let.value)
        for source in (names_of(views[name].value) if name in views else (name,))
    }


def _runs(
    lets: Sequence[Let], target: str, views: Mapping[str, Let]
) -> list[tuple[bool, list[Let]]]:
    """The values in topological order, as runs (on target, values) that alternate between host and
    target."""
    waiting = list(lets)
    unscheduled = {let.name for let in lets}
    runs: list[tuple[bool, list[Let]]] = []
    on_target = False
    while waiting:
        run: list[Let] = []
        left: list[Let] = []
        # Definitions precede uses, so one walk finds all values of this run.
        for let in waiting:
            ready = _offloaded(let, target) == on_target and not _read(let, views) & unscheduled
            (run if ready else left).append(let)
            if ready:
                unscheduled.discard(let.name)
        if run:
            runs.append((on_target, run))
        waiting, on_target = left, not on_target
    return runs


@dataclass(frozen=True, slots=True)
class AllOnHost:
    """Moves the kernels of all targets to the host, those of streams one by one.

    ::

        y = @stream(x)      ->      a = @f(x)
                                    y = @g(a)

    Values keep their names, so that host and target results can be compared value by value.
    """

    name: str = "all-on-host"

    def apply(self, function: Function) -> Function:
        """The function without streams and without kernels of other targets."""
        return map_functions(
            function, lambda one: replace(one, body=rewrite_bodies(one.body, _on_host_alone))
        )


def _on_host_alone(body: Body) -> Body:
    lets: list[Let] = []
    inlined: set[str] = set()
    for let in body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.STREAM) as stream, args=args):
                lets += _inlined(stream, args)
                inlined.add(let.name)
            case Call(callee=Function(target=target)) if target:
                lets.append(_on_host(let))
            case TupleGet(operand=operand) if operand.name in inlined:
                # One of the stream's results: the inlined kernel call already has this name.
                pass
            case _:
                lets.append(let)
    return Body(tuple(lets), body.result)


def _inlined(stream: Function, args: tuple[Atom, ...]) -> list[Let]:
    """The kernel calls of a stream, moved to the host; the stream's results keep their names."""
    given = {param.name: arg for param, arg in zip(stream.params, args, strict=True)}
    lets = []
    for let in substitute(stream.body, given).lets:
        if isinstance(let.value, Call):
            lets.append(_on_host(let))
    return lets
