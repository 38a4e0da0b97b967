"""The C source of a network: its steps, branches, loops and calls, and nothing that is not C99.

Kernels are called by the names that the linker knows; a tensor is an address in the arena, in the
weights, or one that the caller passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from tandem.compiler.machines.cpu.network.cells import refers
from tandem.compiler.machines.cpu.network.frames import Frames, place_frames
from tandem.compiler.machines.cpu.network.make import arguments_of
from tandem.runtime.artifact import (
    Arena,
    Branch,
    BranchForm,
    CallFunction,
    ConstantPlace,
    FunctionCode,
    InPlace,
    Input,
    Instruction,
    Jump,
    MakeCell,
    Manifest,
    Move,
    MoveRow,
    Output,
    ReadCell,
    Reference,
    Return,
    RunStep,
    Step,
    TailCall,
    Tensor,
)
from tandem.runtime.native import ObjectCode
from tandem.workbench.errors import ExportError
from tandem.workbench.export.header import Header
from tandem.workbench.export.heap_source import HeapSource
from tandem.workbench.export.kernels import Kernel
from tandem.workbench.export.machine import launch_source, open_source
from tandem.workbench.export.names import c_name, c_names, c_string
from tandem.workbench.export.options import LibraryOptions
from tandem.workbench.export.placement import StreamPlace, tensors_in_streams
from tandem.workbench.export.stream_file import StreamFile
from tandem.workbench.export.tensor_table import table_source


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
    in_place
        Tensors that lie in a stream's memory.
    """

    name: str
    manifest: Manifest
    kernels: Mapping[str, Kernel]
    codes: Mapping[str, ObjectCode]
    weights: Mapping[str, int]
    ports: Mapping[str, str]
    copies: Mapping[str, str]
    streams: Mapping[str, StreamFile]
    in_place: Mapping[str, StreamPlace]
    functions: Sequence[FunctionCode]
    frames: Frames
    tensors: Mapping[str, Tensor]
    names: Mapping[str, str]
    """The names of kernels in C."""
    constants: str
    """The expression of where the weights begin."""

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
        *,
        embed_weights: bool = True,
        in_place: bool = False,
    ) -> NetworkSource:
        """The source of a network."""
        steps: list[Instruction] = [RunStep(number) for number in range(len(manifest.steps))]
        straight = FunctionCode("run", (), (), (), (*steps, Return()), manifest.arena_bytes)
        functions = manifest.functions or (straight,)
        tensors = {each.name: each for each in manifest.tensors}
        frames = place_frames(functions, [name for name in tensors if refers(tensors, name)])
        spelled = c_names(codes)
        names = {code: f"{name}_kernel_{spelled[code]}" for code in codes}
        places = tensors_in_streams(manifest, streams) if in_place else {}
        return cls(
            *(name, manifest, kernels, codes, weights, ports, copies, streams, places),
            *(functions, frames, tensors, names),
            f"{name}_weights" if embed_weights else "s->weights",
        )

    @property
    def heap(self) -> HeapSource:
        """What needs the heap."""
        return HeapSource(self.name, self.manifest, self.frames, self.tensors, self._address)

    @property
    def arena_bytes(self) -> int:
        """The memory of a run, without that of tensors that lie in a stream's."""
        if not self.in_place:
            return self.frames.size
        ends = (
            tensor.place.offset + tensor.bytes
            for tensor in self.manifest.tensors
            if isinstance(tensor.place, Arena) and tensor.name not in self.in_place
        )
        return max(ends, default=0)

    def text(self, header: Header) -> str:
        """The file that goes with a header."""
        options = header.options
        weights = f"extern const unsigned char {self.name}_weights[];"
        lines = [
            f"/* {self.manifest.name}: made by Tandem. See {self.name}.h. */",
            f'#include "{self.name}.h"',
            "",
            "#include <stddef.h>",
            "",
            "/* Compilers for machines without a system may come without <string.h>. */",
            "void *memcpy(void *target, const void *source, size_t bytes);",
            "",
            *([weights, ""] * options.embed_weights),
            *(f"extern const unsigned char {each}[];" for each in header.stream_names),
            "/* Kernels: operands, a workspace, and what launches parallel loops: nothing here. */",
            *self._declarations(),
            "",
            *(table_source(self.name, header.tensors) if header.tensors else ()),
            *self._results(options),
            *(_clock(header) if options.profile else ()),
            *(self.heap.functions() if self.heap else ()),
            *(
                line
                for number in range(len(self.functions))
                for line in self._function(number, options)
            ),
            *self._entry(header),
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

    def _results(self, options: LibraryOptions) -> Iterator[str]:
        """What functions share: where the results of the one that ended last lie."""
        count = max(len(each.results) for each in self.functions)
        yield "struct state {"
        if self.streams:
            yield f"    struct {self.name} *network;"
        if self.streams and not self.heap:
            yield "    enum tandem_result result;"
        if self.heap:
            yield from self.heap.state()
        yield f"    const struct {self.name}_inputs *inputs;"
        yield f"    const struct {self.name}_outputs *outputs;"
        yield "    unsigned char *frames;"
        yield "    void *workspace;"
        if not options.embed_weights:
            yield "    const unsigned char *weights;"
        if options.threads > 1:
            yield "    void *launcher;"
        if options.profile:
            yield f"    struct {self.name}_profile *profile;"
            yield "    uint64_t since;"
        yield "    unsigned char *next;"
        yield f"    const unsigned char *results[{max(count, 1)}];"
        yield "};"
        yield ""
        if self.streams:
            yield from launch_source(self.name, heap=bool(self.heap))
        if len(self.functions) > 1:
            yield f"static void enter({self._entered});"
            yield ""

    # Functions --------------------------------------------------------------------------------

    def _function(self, number: int, options: LibraryOptions) -> Iterator[str]:
        function = self.functions[number]
        targets = set[int]()
        for instruction in function.instructions:
            match instruction:
                case Jump(target=target) | Branch(otherwise=target):
                    targets.add(target)
                case BranchForm(otherwise=target):
                    targets.add(target)
                case TailCall(function=function.name):
                    targets.add(0)
        yield f"/* {function.name}: returns the number of the function to go on with, or -1. */"
        spare = ", unsigned char *spare" if self.heap else ""
        yield f"static int f{number}(struct state *s, unsigned char *frame{spare})"
        yield "{"
        unused = "(void)s, (void)frame; /* a function may need neither */"
        yield f"    {'(void)spare, ' * bool(spare)}{unused}"
        for at, instruction in enumerate(function.instructions):
            if at in targets:
                yield f"i{at}:;"
            for line in self._instruction(function, instruction, options):
                yield f"    {line}"
        yield "}"
        yield ""

    def _instruction(
        self, function: FunctionCode, instruction: Instruction, options: LibraryOptions
    ) -> Iterator[str]:
        match instruction:
            case RunStep(step=number):
                step = self.manifest.steps[number]
                if options.profile:
                    yield "s->since = now(s);"
                if step.code in self.streams:
                    yield from self._stream(step)
                    if options.profile:
                        yield f"ended(s, {number});"
                    return
                operands = (*step.inputs, *step.outputs)
                positions = arguments_of(self.codes[step.code])
                passed = [self._address(operands[position]) for position in positions]
                launcher = "s->launcher" if options.threads > 1 else "0"
                yield f"{self.names[step.code]}({', '.join((*passed, 's->workspace', launcher))});"
                if options.profile:
                    yield f"ended(s, {number});"
            case Move(source=source, target=target):
                yield self._assign(self._address(target), self._address(source), target)
            case MoveRow(source=source, target=target, index=index):
                size = self.tensors[source].bytes
                yield "{"
                yield f"    const int64_t row = *(const int64_t *)({self._address(index)});"
                yield f"    if (row >= 0 && row < {self.tensors[target].shape[0]})"
                whole = self._address(target)
                if isinstance(self.tensors[target].place, Output | InPlace):
                    whole = f"(unsigned char *){whole}"  # the caller's are of elements
                place = f"{whole} + (size_t)row * {size}"
                yield f"        {self._copy(place, self._address(source), source)}"
                yield "}"
            case Branch(condition=condition, otherwise=otherwise):
                where = self._address(condition)
                yield f"if (!*(const unsigned char *)({where})) goto i{otherwise};"
            case Jump(target=number):
                yield f"goto i{number};"
            case CallFunction() as call:
                yield from self._call(call)
            case TailCall(function=name, inputs=inputs):
                yield from self._goes_on(function, name, inputs)
            case Return():
                for position, result in enumerate(function.results):
                    where = self._address(result)
                    if refers(self.tensors, result):
                        where = f"(const unsigned char *)kept({where})"
                    yield f"s->results[{position}] = {where};"
                yield from self.heap.leave(function.name)
                yield "return -1;"
            case MakeCell() as made:
                yield from self.heap.make(made)
            case BranchForm() as tested:
                yield from self.heap.branch(tested)
            case ReadCell() as read:
                yield from self.heap.read(read)
            case _:
                assert_never(instruction)

    def _stream(self, step: Step) -> Iterator[str]:
        """The statements of a step of the accelerator."""
        number = [*self.streams].index(step.code)
        stream = self.streams[step.code]
        machine = f"s->network->machine, &s->network->streams[{number}]"
        for name, tensor in zip(step.inputs, stream.inputs, strict=True):
            size = self.tensors[name].bytes
            if self.in_place.get(name) == StreamPlace(step.code, tensor.address):
                yield f"tandem_flush({machine}, {tensor.address}, {size});"
            else:
                yield f"tandem_put({machine}, {tensor.address}, {self._address(name)}, {size});"
        yield f"if (launch(s, {number})) return -1;"
        for name, tensor in zip(step.outputs, stream.outputs, strict=True):
            size = self.tensors[name].bytes
            if self.in_place.get(name) == StreamPlace(step.code, tensor.address):
                yield f"tandem_invalidate({machine}, {tensor.address}, {size});"
            else:
                yield f"tandem_get({machine}, {tensor.address}, {self._address(name)}, {size});"

    def _call(self, call: CallFunction) -> Iterator[str]:
        name, called, heap = call.function, self._number(call.function), self.heap
        frame = "region" if heap else f"s->frames + {self.frames.first[name]}"
        if heap:
            yield from heap.region(name, called)
        yield from self._pass(name, call.inputs, frame)
        if heap:
            yield from heap.enter(name, called)
        else:
            yield f"enter(s, {called}, {frame});"
        if self.streams and not heap:
            yield "if (s->result != TANDEM_RESULT_OK) return -1;"
        for position, output in enumerate(call.outputs):
            if refers(self.tensors, output):
                yield heap.take(self._address(output), f"s->results[{position}]")
            else:
                yield self._copy(self._address(output), f"s->results[{position}]", output)
        if heap:
            yield from heap.end(name, called)

    def _goes_on(self, function: FunctionCode, name: str, inputs: Sequence[str]) -> Iterator[str]:
        heap, again = self.heap, name == function.name
        if name in self.frames.regions:
            other = "spare"
        elif again:
            # The frame that is not this one.
            first, second = self.frames.first[name], self.frames.second[name]
            other = f"(frame == s->frames + {first} ? s->frames + {second} : s->frames + {first})"
        else:
            other = f"s->frames + {self.frames.first[name]}"
        if again:
            yield f"s->next = {other};"
            yield from self._pass(name, inputs, "s->next")
            yield from heap.leave(name)
            if heap:
                yield "spare = frame;"
            yield "frame = s->next;"
            yield "goto i0;"
            return
        yield from self._pass(name, inputs, other)
        yield from heap.leave(function.name)
        yield f"s->next = {other};"
        if heap:
            yield "s->spare = frame;"
        yield f"return {self._number(name)};"

    def _pass(self, name: str, inputs: Sequence[str], frame: str) -> Iterator[str]:
        """Copies operands to the parameters of a function, in a frame of it."""
        called = self.functions[self._number(name)]
        yield from self.heap.clear(name, frame)
        for source, param in zip(inputs, called.params, strict=True):
            target = f"{frame} + {self._offset(param)}"
            yield self._assign(target, self._address(source), param)

    def _offset(self, name: str) -> int:
        """Where a tensor of a function lies in its frame."""
        place = self.tensors[name].place
        if isinstance(place, Arena):
            return place.offset
        return self.frames.places[name]

    def _assign(self, target: str, source: str, tensor: str) -> str:
        """Copies a tensor, or refers to the same cell."""
        if refers(self.tensors, tensor):
            return f"refer(s, {target}, kept({source}));"
        return self._copy(target, source, tensor)

    def _copy(self, target: str, source: str, tensor: str) -> str:
        return f"memcpy({target}, {source}, {self.tensors[tensor].bytes});"

    def _address(self, name: str) -> str:
        place = self.in_place.get(name)
        if place is not None:
            number = [*self.streams].index(place.stream)
            return f"s->network->streams[{number}].memory + {place.offset}"
        match self.tensors[name].place:
            case Arena() | Reference():
                return f"frame + {self._offset(name)}"
            case ConstantPlace():
                return f"{self.constants} + {self.weights[name]}"
            case Input() | Output() | InPlace():
                return f"s->{self.ports[name]}"
            case _:
                raise ExportError(f"{name} stays on a device")

    def _number(self, name: str) -> int:
        return next(at for at, each in enumerate(self.functions) if each.name == name)

    @property
    def _entered(self) -> str:
        spare = ", unsigned char *spare" if self.heap else ""
        return f"struct state *s, int function, unsigned char *frame{spare}"

    def _entry(self, header: Header) -> Iterator[str]:
        if len(self.functions) > 1:
            spare = ", spare" if self.heap else ""
            yield f"static void enter({self._entered})"
            yield "{"
            yield "    while (function >= 0) {"
            yield "        switch (function) {"
            for number in range(1, len(self.functions)):
                yield f"        case {number}: function = f{number}(s, frame{spare}); break;"
            yield f"        default: function = f0(s, frame{spare}); break;"
            yield "        }"
            yield "        frame = s->next;"
            if spare:
                yield "        spare = s->spare;"
            yield "    }"
            yield "}"
            yield ""
        if self.streams:
            yield from open_source(header)
        yield f"{header.result} {self.name}_run({header.parameters})"
        yield "{"
        yield "    struct state all = {0};"
        yield "    struct state *s = &all;"
        yield ""
        if self.streams:
            yield "    network->cycles = 0;"
            if self.heap:
                yield "    network->result = TANDEM_RESULT_OK;"
            yield "    s->network = network;"
        yield "    s->inputs = inputs;"
        yield "    s->outputs = outputs;"
        yield "    s->frames = arena;"
        yield "    s->workspace = workspace;"
        if not header.options.embed_weights:
            yield "    s->weights = weights;"
        if header.options.threads > 1:
            yield "    s->launcher = launcher;"
        if header.options.profile:
            yield "    s->profile = profile;"
        if self.heap:
            yield "    s->top = heap;"
            yield "    s->left = heap_bytes;"
            yield from (f"    {it}" for it in self.heap.clear(self.functions[0].name, "s->frames"))
        yield f"    (void)f0(s, s->frames{', 0' * bool(self.heap)});"
        for target, tensor in self.copies.items():
            source = self._address(tensor)
            yield f"    memcpy({target}, {source}, {self.tensors[tensor].bytes});"
        if self.streams or self.heap:
            yield "    return s->result;"
        yield "}"


def _clock(header: Header) -> Iterator[str]:
    """The names of steps, and what adds to a profile."""
    name = header.name
    yield f"const char *const {name}_steps[{name.upper()}_STEPS] = {{"
    yield from (f"    {c_string(each)}," for each in header.steps)
    yield "};"
    yield ""
    yield "static uint64_t now(const struct state *s)"
    yield "{"
    yield "    return s->profile ? s->profile->now() : 0;"
    yield "}"
    yield ""
    yield "static void ended(struct state *s, int step)"
    yield "{"
    yield "    if (!s->profile) return;"
    yield "    s->profile->time[step] += now(s) - s->since;"
    yield "    s->profile->runs[step]++;"
    yield "}"
    yield ""


def needs_heap(manifest: Manifest) -> str:
    """Why a network needs a heap; empty if it needs none."""
    if manifest.forms:
        names = ", ".join(each.name for each in manifest.forms)
        return (
            f"{manifest.name} has values of data types whose size is known only when it runs "
            f"({names}): they need a heap"
        )
    if manifest.functions and place_frames(manifest.functions).regions:
        return (
            f"{manifest.name} has calls that wait for calls of the same function: how much "
            "memory they take is known only when it runs, and they need a heap"
        )
    return ""


def prefix_of(manifest: Manifest) -> str:
    """The prefix of a network's names."""
    return c_name(manifest.provenance.model.rpartition("/")[2].removesuffix(".onnx")).lower()
