"""The code of a whole network, from its manifest and the code of its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import llvmlite

from tandem.base.object_cache import ObjectCache
from tandem.base.processor import object_of_text
from tandem.compiler.machines.cpu.network.cells import refers
from tandem.compiler.machines.cpu.network.frames import place_frames
from tandem.compiler.machines.cpu.network.text import Program, network_text
from tandem.runtime.artifact import (
    HOST,
    Arena,
    Code,
    FunctionCode,
    Instruction,
    Kept,
    Manifest,
    Reference,
    Return,
    RunStep,
)
from tandem.runtime.artifact.network_version import network_version
from tandem.runtime.native import ObjectCode
from tandem.runtime.native.network_object import NetworkObject

_MOST_STEPS: Final = 20_000
"""More steps than that take LLVM long, and the time between them is nothing beside theirs."""
_SYSTEMS: Final = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""The systems whose clock the code asks."""


def make_network(manifest: Manifest, code: Mapping[str, Code]) -> NetworkObject | None:
    """The code of a network that the host runs alone; None if another device has a part of it, or
    if it is for a system without such code."""
    kernels = {name: each for name, each in code.items() if isinstance(each, ObjectCode)}
    triples = {each.triple for each in kernels.values()}
    tensors = {each.name: each for each in manifest.tensors}
    if (
        any(step.device != HOST or step.code not in kernels for step in manifest.steps)
        or any(isinstance(each.place, Kept) for each in manifest.tensors)
        or not 0 < len(manifest.steps) <= _MOST_STEPS
        or len(triples) != 1
        or not triples <= set(_SYSTEMS)
    ):
        return None
    functions = manifest.functions or (_straight(manifest),)
    frames = place_frames(functions, [name for name in tensors if refers(tensors, name)])
    (triple,) = triples
    used = [*dict.fromkeys(step.code for step in manifest.steps)]
    outside = [
        tensor.name
        for tensor in manifest.tensors
        if not isinstance(tensor.place, Arena | Reference)
    ]
    program = Program(
        functions,
        manifest.steps,
        tensors,
        manifest.forms,
        {name: len(used) + at for at, name in enumerate(outside)},
        {name: at for at, name in enumerate(used)},
        {name: arguments_of(kernels[name]) for name in used},
        frames,
    )
    results = max((len(each.results) for each in functions), default=0)
    made = _machine_code(network_text(program), triple)
    return NetworkObject(
        triple,
        network_version(manifest),
        tuple(used),
        tuple(outside),
        frames.size,
        results,
        made,
        len(manifest.forms) + len(functions) if program.has_heap else 0,
    )


def _straight(manifest: Manifest) -> FunctionCode:
    """A network without control flow as a function."""
    steps = [RunStep(number) for number in range(len(manifest.steps))]
    instructions: tuple[Instruction, ...] = (*steps, Return())
    return FunctionCode(manifest.name, (), (), (), instructions, manifest.arena_bytes)


def arguments_of(kernel: ObjectCode) -> list[int]:
    """For each parameter of a kernel the number of its operand; what is read and written is given
    twice, as the same tensor."""
    names = (*kernel.inputs, *kernel.outputs)
    return [len(names) - 1 - names[::-1].index(each.name) for each in kernel.parameters]


def _machine_code(text: str, triple: str) -> bytes:
    """The object file of a module's text, for any processor of the triple."""

    parts = ("whole network", llvmlite.__version__, triple, text)
    return ObjectCache.default().object_of(parts, lambda: object_of_text(text, triple, 1))
