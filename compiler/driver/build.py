"""Compilation of a graph for several targets to one artifact."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from tandem.compiler.driver.call_sequence import (
    CallSequence,
    Forms,
    call_sequence,
    has_control_flow,
)
from tandem.compiler.driver.in_place import pairs_given_up, results_in_place
from tandem.compiler.driver.memory import kept_tensors, moved_tensors, plan_frame
from tandem.compiler.driver.packed_tensors import PackedTensor, packed_tensors
from tandem.compiler.driver.resident_inputs import changed_inputs, scales_of
from tandem.compiler.errors import BuildError
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.indices import rows_of_tables
from tandem.compiler.graph.live_ranges import live_ranges
from tandem.compiler.graph.memory import plan_memory
from tandem.compiler.graph.nodes import Atom, Function, Tuple
from tandem.compiler.graph.passes import (
    BindSymbols,
    EliminateDead,
    GraphPass,
    LimitMemory,
    WidenWeights,
    simplifying_passes,
    transform,
)
from tandem.compiler.graph.types import leaves, part_names, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import functions
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.plan.offload import AllOnHost, ComputeInLayouts, KeepRows
from tandem.compiler.plan.parts import ArtifactParts, Progress
from tandem.compiler.plan.target import Backend, Target
from tandem.runtime.artifact import (
    Arena,
    Artifact,
    Count,
    FunctionCode,
    Input,
    Instruction,
    Manifest,
    Output,
    Place,
    Port,
    Provenance,
    Reference,
    RunStep,
    Scale,
    Step,
    Tensor,
)
from tandem.runtime.native import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Backends:
    """A cache of back ends by target. Artifacts that share it compile no kernel twice: an artifact
    for an accelerator and its fallback artifact for the host share all kernels of the host."""

    _made: dict[Target[Any], Backend] = field(default_factory=dict, repr=False)

    def of(self, target: Target[Any]) -> Backend:
        """The back end of a target."""
        if target not in self._made:
            self._made[target] = target.make_backend(target)
        return self._made[target]


def build(
    function: Function,
    targets: Sequence[Target[Any]],
    provenance: Provenance,
    *,
    name: str | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    counts: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
    sizes: Mapping[str, int] | None = None,
    scales: Mapping[str, Scale] | None = None,
    resident: Collection[str] = (),
    fallback: bool = False,
    backends: Backends | None = None,
    report: Progress | None = None,
    given_up: Mapping[str, str] = MappingProxyType({}),
    arena_limit: int | None = None,
) -> Artifact:
    """Compile a function for several targets, each of which runs a part of it.

    Parameters
    ----------
    targets
        In order, each target takes those remaining operators that it supports; the last target,
        the host, has to support the rest.
    name
        Name of the network; by default the function's.
    inputs, outputs
        Names of the parameters and results, in order; by default those of the graph.
    counts
        Extents of outputs that are known only after a run: by output and axis, the number of the
        function's result that is the extent. Such results follow the outputs.
    sizes
        Values of the function's symbols.
    scales
        Scales of quantised values by name, which the artifact records.
    resident
        Inputs whose rows come before others that the function computes, along axis 2, and that
        callers keep from run to run: the artifact takes those as a device reads them, where
        `KeepRows` can, and adds the others in place.
    fallback
        Whether the host runs the kernels of the other targets too, with tensors of the same names
        and layouts, for comparison.
    backends
        Cached back ends, which may have compiled kernels of other artifacts.
    given_up
        By the names of outputs inputs that the caller gives up: the output lies in the input's
        memory, if nothing reads the input when it is written.
    arena_limit
        The most bytes of intermediate tensors, of a network that the host runs alone: some are
        computed a second time (`LimitMemory`). Outputs are computed as soon as they can be then.

    Raises
    ------
    GraphError
        The function is not legal, or `sizes` has other symbols.
    BuildError
        Memory cannot be planned (`call_sequence`), or the length of `inputs` or `outputs` is
        wrong; `given_up` has other names; a limit for several targets.
    MemoryLimitError
        The limit is not met.
    CodegenError
        A kernel cannot be compiled.
    """
    progress = report or (lambda _: None)
    backends = backends or Backends()
    progress("simplifying")
    # Results are named before passes, which may replace a result by an equal value.
    outputs = _result_names(function) if outputs is None else outputs
    rows = rows_of_tables(function)
    params = [each.name for each in function.params]
    names = dict(zip(params if inputs is None else inputs, params, strict=False))
    kept = tuple(names[name] for name in resident)
    rounded = scales_of(function, kept)
    pairs = pairs_given_up(function, given_up, inputs, outputs)
    passes = [*_passes(function, targets, backends, sizes, kept, fallback)]
    if arena_limit is not None:
        if len(targets) > 1:
            raise BuildError(f"{function.name}: a limit of memory is for the host alone")
        passes.append(LimitMemory(arena_limit, pairs))
    function = transform(function, passes)
    forms = Forms()
    network = call_sequence(function, forms)
    called = (call_sequence(each, forms, called=True) for each in function.definitions)
    sequences = [network, *called]
    inputs = params if inputs is None else inputs
    _same_number(function, "takes", inputs, params)
    extents = sorted({number for axes in counts.values() for number in axes.values()})
    if extents != [*range(len(outputs), len(network.results))] or not extents:
        _same_number(function, "gives", outputs, network.results)
    types = {name: type_ for each in sequences for name, type_ in each.types.items()}
    parts = ArtifactParts(types, progress)
    invocations = [call for each in sequences for call in each.invocations]
    if len(targets) == 1:
        # There is a reason only where another target could have had a part.
        invocations = [replace(call, reason=None) for call in invocations]
    for target in targets:
        calls = [call for call in invocations if call.kernel.target == target.name]
        backends.of(target).prepare(calls, progress)
    by_name = {target.name: backends.of(target) for target in targets}
    steps = tuple(by_name[call.kernel.target].step(call, parts) for call in invocations)
    results = tuple(
        Port(name, parts.tensor_of(result))
        for name, result in zip(outputs, network.results, strict=False)
    )
    stored = {name: scale for name, scale in rounded.items() if types[name].dtype == INT8}
    scales = {**(scales or {}), **stored}
    packed = packed_tensors(invocations, scales)
    keeping = {target.name for target in targets if target.keeps}
    layout = _layout(function, sequences, steps, parts, keeping)
    if not has_control_flow(function):
        layout.places.update(results_in_place(network, pairs))
    tensors = tuple(
        Tensor(
            name,
            types[name].stored.static_shape(name),
            types[name].stored.dtype.numpy.name,
            place,
            scales.get(name, packed.get(name, PackedTensor()).scale),
            rows.get(name),
            types[name].undefined,
            windows=packed.get(name, PackedTensor()).windows,
        )
        for name, place in layout.places.items()
    )
    manifest = Manifest(
        name=name or function.name,
        provenance=provenance,
        tensors=(*tensors, *parts.constant_tensors()),
        inputs=tuple(map(Port, inputs, params)),
        results=results,
        steps=steps,
        arena_bytes=layout.arena_bytes,
        functions=layout.functions,
        counts=tuple(
            Count(name, axis, parts.tensor_of(network.results[number]))
            for name, axes in counts.items()
            for axis, number in axes.items()
        ),
        forms=forms.all,
    )
    whole = backends.of(targets[-1]).whole(manifest, parts.code)
    return Artifact(manifest, {**parts.code, **whole}, parts.constants)


def _passes(
    function: Function,
    targets: Sequence[Target[Any]],
    backends: Backends,
    sizes: Mapping[str, int] | None,
    resident: tuple[str, ...],
    fallback: bool,
) -> Iterator[GraphPass]:
    """The target-independent passes, then the passes of each target."""
    yield from offloading_passes(function, targets, backends, sizes)
    if resident and len(targets) > 1:
        yield KeepRows(resident)
        yield EliminateDead()
    if fallback:
        yield AllOnHost()
    yield from backends.of(targets[-1]).passes()


def offloading_passes(
    function: Function,
    targets: Sequence[Target[Any]],
    backends: Backends,
    sizes: Mapping[str, int] | None = None,
) -> Iterator[GraphPass]:
    """The passes after which each target but the host has its part of a function; parameters as of
    `build`."""
    called = functions(function)[:-1]
    if sizes or any(symbols_of(param.type) for each in called for param in each.params):
        yield BindSymbols(tuple(sorted((sizes or {}).items())))
    *others, host = targets
    yield from simplifying_passes(host.make_runner())
    # Which of them computes an operator is not known yet.
    yield WidenWeights(
        lambda call, result: any(target.takes_compressed(call, result) for target in targets)
    )
    for target in others:
        yield from backends.of(target).passes()
    if others:
        yield ComputeInLayouts()
        yield EliminateDead()
        # What no other target has taken.
        yield WidenWeights(
            lambda call, result: (
                isinstance(call.callee, Function) or host.takes_compressed(call, result)
            )
        )


def _result_names(function: Function) -> list[str]:
    """The names of the results in the graph, with a number if a result occurs twice."""
    types = verify(function)
    tuples = {let.name: let.value for let in function.body.lets if isinstance(let.value, Tuple)}

    def named(atom: Atom) -> Iterator[str | None]:
        if isinstance(atom, Constant):
            yield None
        elif atom.name in tuples:
            for item in tuples[atom.name].items:
                yield from named(item)
        else:
            yield from leaves(part_names(atom.name, types[atom.name]))

    found = [each or f"output_{at}" for at, each in enumerate(named(function.body.result))]
    return [each if found.count(each) == 1 else f"{each}_{at}" for at, each in enumerate(found)]


def _same_number(
    function: Function, verb: str, named: Sequence[str], tensors: Sequence[object]
) -> None:
    if len(named) != len(tensors):
        raise BuildError(
            f"function {function.name} {verb} {len(tensors)} tensors, and {len(named)} are named: "
            f"{', '.join(named)}"
        )


@dataclass(frozen=True, slots=True)
class _Layout:
    """The memory of each tensor by name, the size of the arena, and the code of functions."""

    places: dict[str, Place]
    arena_bytes: int
    functions: tuple[FunctionCode, ...] = ()


def _layout(
    function: Function,
    sequences: Sequence[CallSequence],
    steps: Sequence[Step],
    parts: ArtifactParts,
    keeping: Collection[str],
) -> _Layout:
    """The memory of a program; `sequences` are those of the function and of its definitions,
    `keeping` the devices that have memory of their own."""
    network = sequences[0]
    # In their order, so that equal programs have equal bytes.
    results = dict.fromkeys(each for each in network.results if isinstance(each, str))
    inputs: dict[str, Place] = {each.name: Input() for each in function.params}
    places: dict[str, Place]
    if not has_control_flow(function):
        others: dict[str, Place] = {**kept_tensors(steps, keeping, {*inputs, *results})}
        others |= changed_inputs(function)
        outside = {*results, *others}
        tenants = [each for each in live_ranges(function) if each.name not in outside]
        plan = plan_memory(tenants, ALIGNMENT)
        places = {**inputs, **others}
        places |= {tenant.name: Arena(at) for tenant, at in zip(tenants, plan.offsets, strict=True)}
        return _Layout({name: places.get(name, Output()) for name in network.types}, plan.size)
    codes, first = [], 0
    for sequence in sequences:
        codes.append(tuple(_numbered(each(parts.tensor_of), first) for each in sequence.drafts))
        first += len(sequence.invocations)
    handed = {each for sequence in sequences for each in sequence.results if isinstance(each, str)}
    handed |= {each for sequence in sequences for each in sequence.params}
    moved = moved_tensors(chain.from_iterable(codes), steps)
    kept = kept_tensors(steps, keeping, moved.union(inputs, handed))
    places = {**kept}
    functions = []
    for sequence, code in zip(sequences, codes, strict=True):
        outside = {*kept, *sequence.references}
        outside |= {*inputs, *results} if sequence is network else set()
        own = {name: type_ for name, type_ in sequence.types.items() if name not in outside}
        returned = [each for each in sequence.results if isinstance(each, str)]
        pinned = () if sequence is network else (*sequence.params, *returned)
        names, plan = plan_frame(code, steps, own, pinned)
        places |= {name: Arena(offset) for name, offset in zip(names, plan.offsets, strict=True)}
        places |= {name: Reference() for name in sequence.types if name in sequence.references}
        if sequence is network:
            places |= inputs | {name: Output() for name in results if name not in inputs}
        functions.append(
            FunctionCode(
                sequence.name,
                () if sequence is network else sequence.params,
                () if sequence is network else tuple(returned),
                (*(name for name in sequence.types if name in outside), *names),
                code,
                plan.size,
            )
        )
    return _Layout(places, functions[0].frame_bytes, tuple(functions))


def _numbered(instruction: Instruction, first: int) -> Instruction:
    """The instruction with the number of its step in the manifest."""
    return RunStep(first + instruction.step) if isinstance(instruction, RunStep) else instruction
