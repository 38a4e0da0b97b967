"""The C source of a network: its steps, branches, loops and calls, and nothing that is not C99.

Kernels are called by the names that the linker knows; a tensor is an address in the arena, in the
weights, or one that the caller passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from tandem.compiler.machines.cpu.network.frames import Frames, place_frames
from tandem.compiler.machines.cpu.network.make import arguments_of
from tandem.runtime.artifact import (
    Arena,
    Branch,
    CallFunction,
    ConstantPlace,
    FunctionCode,
    Input,
    Instruction,
    Jump,
    Manifest,
    Move,
    Output,
    Return,
    RunStep,
    Step,
    TailCall,
    Tensor,
)
from tandem.runtime.native import ObjectCode
from tandem.workbench.errors import ExportError
from tandem.workbench.export.header import open_declaration, run_declaration
from tandem.workbench.export.kernels import Kernel
from tandem.workbench.export.names import c_name, c_names
from tandem.workbench.export.stream_file import StreamFile


@dataclass(frozen=True, slots=True)
class NetworkSource:
    """A network whose source is written.

    Attributes
    ----------
    name
        The prefix of all names of the library.
    weights
        Offsets of constants in the weights, by tensor.
    ports
        The expressions of inputs and outputs, by tensor.
    copies
        Expressions of further results, and the tensors that they are copies of.
    streams
        The accelerator's instruction streams, by code.
    """

    name: str
    manifest: Manifest
    kernels: Mapping[str, Kernel]
    codes: Mapping[str, ObjectCode]
    weights: Mapping[str, int]
    ports: Mapping[str, str]
    copies: Mapping[str, str]
    streams: Mapping[str, StreamFile]
    functions: Sequence[FunctionCode]
    frames: Frames
    tensors: Mapping[str, Tensor]
    names: Mapping[str, str]
    """The names of kernels in C."""

    @classmethod
    def of(
        cls,
        name: str,
        manifest: Manifest,
        kernels: Mapping[str, Kernel],
        codes: Mapping[str, ObjectCode],
        weights: Mapping[str, int],
        ports: Mapping[str, str],
        copies: Mapping[str, str],
        streams: Mapping[str, StreamFile],
    ) -> NetworkSource:
        """The source of a network. Raises `ExportError` for calls that nest without a bound."""
        steps: list[Instruction] = [RunStep(number) for number in range(len(manifest.steps))]
        straight = FunctionCode("run", (), (), (), (*steps, Return()), manifest.arena_bytes)
        functions = manifest.functions or (straight,)
        frames = place_frames(functions)
        if frames is None:
            raise ExportError(
                f"{manifest.name} has calls that wait for calls of the same function: how much "
                "memory they take is known only when it runs, and C would need more than it has"
            )
        tensors = {each.name: each for each in manifest.tensors}
        spelled = c_names(codes)
        names = {code: f"{name}_kernel_{spelled[code]}" for code in codes}
        return cls(
            *(name, manifest, kernels, codes, weights, ports, copies, streams, functions, frames),
            *(tensors, names),
        )

    def text(self) -> str:
        """The file."""
        lines = [
            f"/* {self.manifest.name}: made by Tandem. See {self.name}.h. */",
            f'#include "{self.name}.h"',
            "",
            "#include <stddef.h>",
            "",
            "/* Compilers for machines without a system may come without <string.h>. */",
            "void *memcpy(void *target, const void *source, size_t bytes);",
            "",
            f"extern const unsigned char {self.name}_weights[];",
            *(f"extern const unsigned char {name}[];" for name in self._stream_names()),
            "",
            "/* Kernels: operands, a workspace, and what launches parallel loops: nothing here. */",
            *self._declarations(),
            "",
            *self._results(),
            *(line for number in range(len(self.functions)) for line in self._function(number)),
            *self._entry(),
        ]
        return "\n".join(lines) + "\n"

    # Declarations -----------------------------------------------------------------------------

    def _declarations(self) -> Iterator[str]:
        for name, code in self.codes.items():
            kernel = self.kernels[name]
            written = {*code.outputs}
            const = ("" if each.name in written else "const " for each in code.parameters)
            operands = ", ".join((*(f"{word}void *" for word in const), "void *", "void *"))
            yield f'void {self.names[name]}({operands}) __asm__("{kernel.symbol}");'

    def _results(self) -> Iterator[str]:
        """What functions share: where the results of the one that ended last lie."""
        count = max(len(each.results) for each in self.functions)
        yield "struct state {"
        if self.streams:
            yield f"    struct {self.name} *network;"
            yield "    enum tandem_result result;"
        yield f"    const struct {self.name}_inputs *inputs;"
        yield f"    const struct {self.name}_outputs *outputs;"
        yield "    unsigned char *frames;"
        yield "    void *workspace;"
        yield "    unsigned char *next;"
        yield f"    const unsigned char *results[{max(count, 1)}];"
        yield "};"
        yield ""
        if self.streams:
            yield from self._launch()
        if len(self.functions) > 1:
            yield "static void enter(struct state *s, int function, unsigned char *frame);"
            yield ""

    def _stream_names(self) -> list[str]:
        return [f"{self.name}_stream_{number}" for number in range(len(self.streams))]

    def _launch(self) -> Iterator[str]:
        """A function that runs a stream whose inputs are in its memory."""
        yield "/* Runs a stream; a step that fails ends the run. */"
        yield "static int launch(struct state *s, int number)"
        yield "{"
        yield f"    struct {self.name} *network = s->network;"
        yield "    const struct tandem_stream *stream = &network->streams[number];"
        yield ""
        yield "    s->result = tandem_run(network->machine, stream, network->limit);"
        yield "    if (s->result != TANDEM_RESULT_OK) return -1;"
        yield "    network->cycles += tandem_cycles(network->machine);"
        yield "    return 0;"
        yield "}"
        yield ""

    def _stream(self, step: Step) -> Iterator[str]:
        """The statements of a step of the accelerator."""
        number = [*self.streams].index(step.code)
        stream, place = self.streams[step.code], f"&s->network->streams[{number}]"
        for name, tensor in zip(step.inputs, stream.inputs, strict=True):
            size = self.tensors[name].bytes
            where = f"{tensor.address}, {self._address(name)}, {size}"
            yield f"tandem_put(s->network->machine, {place}, {where});"
        yield f"if (launch(s, {number})) return -1;"
        for name, tensor in zip(step.outputs, stream.outputs, strict=True):
            size = self.tensors[name].bytes
            where = f"{tensor.address}, {self._address(name)}, {size}"
            yield f"tandem_get(s->network->machine, {place}, {where});"

    # Functions --------------------------------------------------------------------------------

    def _function(self, number: int) -> Iterator[str]:
        function = self.functions[number]
        targets = set[int]()
        for instruction in function.instructions:
            match instruction:
                case Jump(target=target) | Branch(otherwise=target):
                    targets.add(target)
                case TailCall(function=function.name):
                    targets.add(0)
        yield f"/* {function.name}: returns the number of the function to go on with, or -1. */"
        yield f"static int f{number}(struct state *s, unsigned char *frame)"
        yield "{"
        yield "    (void)s, (void)frame; /* a function may need neither */"
        for at, instruction in enumerate(function.instructions):
            if at in targets:
                yield f"i{at}:;"
            for line in self._instruction(function, instruction):
                yield f"    {line}"
        yield "}"
        yield ""

    def _instruction(self, function: FunctionCode, instruction: Instruction) -> Iterator[str]:
        match instruction:
            case RunStep(step=number):
                step = self.manifest.steps[number]
                if step.code in self.streams:
                    yield from self._stream(step)
                    return
                operands = (*step.inputs, *step.outputs)
                positions = arguments_of(self.codes[step.code])
                passed = [self._address(operands[position]) for position in positions]
                yield f"{self.names[step.code]}({', '.join((*passed, 's->workspace', '0'))});"
            case Move(source=source, target=target):
                yield self._copy(self._address(target), self._address(source), target)
            case Branch(condition=condition, otherwise=otherwise):
                where = self._address(condition)
                yield f"if (!*(const unsigned char *)({where})) goto i{otherwise};"
            case Jump(target=number):
                yield f"goto i{number};"
            case CallFunction(function=name, inputs=inputs, outputs=outputs):
                called = self._number(name)
                frame = f"s->frames + {self.frames.first[name]}"
                yield from self._pass(name, inputs, frame)
                yield f"enter(s, {called}, {frame});"
                if self.streams:
                    yield "if (s->result != TANDEM_RESULT_OK) return -1;"
                for position, output in enumerate(outputs):
                    yield self._copy(self._address(output), f"s->results[{position}]", output)
            case TailCall(function=name, inputs=inputs):
                yield from self._goes_on(function, name, inputs)
            case Return():
                for position, result in enumerate(function.results):
                    yield f"s->results[{position}] = {self._address(result)};"
                yield "return -1;"
            case _:
                assert_never(instruction)

    def _goes_on(self, function: FunctionCode, name: str, inputs: Sequence[str]) -> Iterator[str]:
        first, second = self.frames.first[name], self.frames.second[name]
        if name != function.name:
            yield from self._pass(name, inputs, f"s->frames + {first}")
            yield f"s->next = s->frames + {first};"
            yield f"return {self._number(name)};"
            return
        # The frame that is not this one.
        other = f"(frame == s->frames + {first} ? s->frames + {second} : s->frames + {first})"
        yield f"s->next = {other};"
        yield from self._pass(name, inputs, "s->next")
        yield "frame = s->next;"
        yield "goto i0;"

    def _pass(self, name: str, inputs: Sequence[str], frame: str) -> Iterator[str]:
        """Copies operands to the parameters of a function, in a frame of it."""
        called = self.functions[self._number(name)]
        for source, param in zip(inputs, called.params, strict=True):
            place = self.tensors[param].place
            assert isinstance(place, Arena), "a parameter lies in its function's frame"
            yield self._copy(f"{frame} + {place.offset}", self._address(source), param)

    def _copy(self, target: str, source: str, tensor: str) -> str:
        return f"memcpy({target}, {source}, {self.tensors[tensor].bytes});"

    def _address(self, name: str) -> str:
        match self.tensors[name].place:
            case Arena(offset=offset):
                return f"frame + {offset}"
            case ConstantPlace():
                return f"{self.name}_weights + {self.weights[name]}"
            case Input() | Output():
                return f"s->{self.ports[name]}"
            case _:
                raise ExportError(f"{name} stays on a device")

    def _number(self, name: str) -> int:
        return next(at for at, each in enumerate(self.functions) if each.name == name)

    def _entry(self) -> Iterator[str]:
        if len(self.functions) > 1:
            yield "static void enter(struct state *s, int function, unsigned char *frame)"
            yield "{"
            yield "    while (function >= 0) {"
            yield "        switch (function) {"
            for number in range(1, len(self.functions)):
                yield f"        case {number}: function = f{number}(s, frame); break;"
            yield "        default: function = f0(s, frame); break;"
            yield "        }"
            yield "        frame = s->next;"
            yield "    }"
            yield "}"
            yield ""
        yield from self._open()
        yield from (
            line.removesuffix(";") for line in run_declaration(self.name, bool(self.streams))
        )
        yield "{"
        yield "    struct state all = {0};"
        yield "    struct state *s = &all;"
        yield ""
        if self.streams:
            yield "    network->cycles = 0;"
            yield "    s->network = network;"
        yield "    s->inputs = inputs;"
        yield "    s->outputs = outputs;"
        yield "    s->frames = arena;"
        yield "    s->workspace = workspace;"
        yield "    (void)f0(s, s->frames);"
        for target, tensor in self.copies.items():
            source = self._address(tensor)
            yield f"    memcpy({target}, {source}, {self.tensors[tensor].bytes});"
        if self.streams:
            yield "    return s->result;"
        yield "}"

    def _open(self) -> Iterator[str]:
        """The function that loads the streams, if there are some."""
        if not self.streams:
            return
        yield from (line.removesuffix(";") for line in open_declaration(self.name))
        yield "{"
        yield "    enum tandem_result result;"
        yield ""
        yield "    network->machine = machine;"
        yield "    network->limit = 0;"
        yield "    network->cycles = 0;"
        for number, (name, stream) in enumerate(
            zip(self._stream_names(), self.streams.values(), strict=True)
        ):
            loaded = f"{name}, {len(stream.content)}, &network->streams[{number}]"
            yield f"    result = tandem_load(machine, {loaded});"
            yield "    if (result != TANDEM_RESULT_OK) return result;"
        yield "    return TANDEM_RESULT_OK;"
        yield "}"
        yield ""


def prefix_of(manifest: Manifest) -> str:
    """The prefix of a network's names."""
    return c_name(manifest.provenance.model.rpartition("/")[2].removesuffix(".onnx")).lower()
