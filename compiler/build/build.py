"""From a graph to an artifact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.build.program import Network, network_of
from compiler.errors import BuildError
from compiler.graph.constant import Constant
from compiler.graph.lifetimes import lifetimes
from compiler.graph.memory import plan_memory
from compiler.graph.native import NativeRunner
from compiler.graph.nodes import Atom, Function, Tuple
from compiler.graph.passes import BindSymbols, Pass, simplifying_passes, transform
from compiler.graph.types import leaves, part_names
from compiler.graph.verify import verify
from compiler.targets.offload import StreamsOnHost
from compiler.targets.parts import Parts, Report
from compiler.targets.target import Backend, Target
from runtime.artifact import (
    Arena,
    Artifact,
    Input,
    Manifest,
    Output,
    Port,
    Provenance,
    Scale,
    Tensor,
)
from runtime.native import ALIGNMENT

__all__ = ["Backends", "build"]


@dataclass(frozen=True, slots=True)
class Backends:
    """A back end for each target, which compiles nothing twice.

    The artifact of a network for an accelerator, and its fallback for the host alone, share all
    that the accelerator never does.
    """

    _made: dict[Target[Any], Backend] = field(default_factory=dict, repr=False)

    def of(self, target: Target[Any]) -> Backend:
        """The target's."""
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
    sizes: Mapping[str, int] | None = None,
    scales: Mapping[str, Scale] | None = None,
    fallback: bool = False,
    backends: Backends | None = None,
    report: Report | None = None,
) -> Artifact:
    """Compile a function for machines that share the work.

    Parameters
    ----------
    targets
        Each takes what it can of what those before it have left; the last one, the host, has to
        take all that is left.
    name
        What the network is called; by default as the function.
    inputs, outputs
        What its parameters and results are called, in order; by default as in the graph.
    sizes
        Numbers for its symbols.
    fallback
        The host does what the others would, with tensors of the same names and layouts: for
        comparison.
    scales
        Of quantised values, by name, for the artifact to tell.
    backends
        With what they have compiled for other artifacts.

    Raises
    ------
    GraphError
        If the function is not legal, or has other symbols.
    BuildError
        If it cannot be laid out beforehand (`network_of`), or `inputs` or `outputs` are too
        many or too few.
    CodegenError
        If a kernel cannot be compiled.
    """
    tell = report or (lambda _: None)
    made = backends or Backends()
    tell("simplifying")
    # Before passes, which may find that a result equals another value.
    outputs = _result_names(function) if outputs is None else outputs
    function = transform(function, [*_passes(targets, made, sizes, fallback)])
    network = network_of(function)
    params = [each.name for each in function.params]
    inputs = params if inputs is None else inputs
    _same_number(function, "takes", inputs, params)
    _same_number(function, "gives", outputs, network.results)
    parts = Parts(network.types, tell)
    for target in targets:
        calls = [call for call in network.invocations if call.kernel.target == target.name]
        made.of(target).prepare(calls, tell)
    by_name = {each.name: made.of(each) for each in targets}
    steps = tuple(by_name[call.kernel.target].step(call, parts) for call in network.invocations)
    results = tuple(
        Port(name, parts.tensor_of(each))
        for name, each in zip(outputs, network.results, strict=True)
    )
    places, arena_bytes = _places(function, network)
    tensors = tuple(
        Tensor(
            name,
            type_.static_shape(name),
            type_.dtype.numpy.name,
            places[name],
            (scales or {}).get(name),
        )
        for name, type_ in network.types.items()
    )
    manifest = Manifest(
        name=name or function.name,
        provenance=provenance,
        tensors=(*tensors, *parts.held()),
        inputs=tuple(map(Port, inputs, params)),
        results=results,
        steps=steps,
        arena_bytes=arena_bytes,
    )
    return Artifact(manifest, parts.config, parts.kernels, parts.constants, parts.streams)


def _passes(
    targets: Sequence[Target[Any]],
    backends: Backends,
    sizes: Mapping[str, int] | None,
    fallback: bool,
) -> Iterator[Pass]:
    """Those of no target first, then each target's."""
    if sizes:
        yield BindSymbols(tuple(sorted(sizes.items())))
    yield from simplifying_passes(NativeRunner(reassociate=False))
    *others, host = targets
    for target in others:
        yield from backends.of(target).passes()
        if fallback:
            yield StreamsOnHost()
    yield from backends.of(host).passes()


def _result_names(function: Function) -> list[str]:
    """As in the graph; those that come twice with a number."""
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


def _places(function: Function, network: Network) -> tuple[dict[str, Arena | Input | Output], int]:
    """Where each tensor lies, and the bytes of the arena."""
    results = {each for each in network.results if isinstance(each, str)}
    places: dict[str, Arena | Input | Output] = {each.name: Input() for each in function.params}
    tenants = [each for each in lifetimes(function) if each.name not in results]
    plan = plan_memory(tenants, ALIGNMENT)
    for name in network.types:
        places.setdefault(name, Output())
    for tenant, offset in zip(tenants, plan.offsets, strict=True):
        places[tenant.name] = Arena(offset)
    return places, plan.size
