"""The program of a whole network, in LLVM's language.

Each function of the network is one here: `i64 @f3(state, frame, spare)`. It returns 0 when its
results are in place, 1 when the run was stopped or has failed, and 2 + n to go on with function n,
whose frame is `next` in the state. Loops and branches of the network are branches here. `spare` is
the other frame of the region of a call, if its functions have regions (`frames`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from tandem.compiler.machines.cpu.network.cells import REFERENCE_BYTES, CellLayout, refers
from tandem.compiler.machines.cpu.network.frames import Frames
from tandem.compiler.machines.cpu.network.head_text import head_text
from tandem.compiler.machines.cpu.network.heap_text import heap_text
from tandem.runtime.artifact import (
    MAX_CALLS,
    Arena,
    Branch,
    BranchForm,
    CallFunction,
    Form,
    FunctionCode,
    Instruction,
    Jump,
    MakeCell,
    Move,
    MoveRow,
    ReadCell,
    Return,
    RunStep,
    Step,
    TailCall,
    Tensor,
)
from tandem.runtime.native.network_state import Failure, NetworkState
from tandem.runtime.native.objects import ALIGNMENT

DONE, STOPPED, FIRST = 0, 1, 2
"""What functions return: the first numbers of all."""


@dataclass(frozen=True, slots=True)
class Program:
    """A network whose code is to be made.

    Attributes
    ----------
    functions
        The network's own function first.
    slots
        Numbers of the slots of tensors outside the arena, by name.
    kernels
        Numbers of the slots of kernels, by the names of their code.
    arguments
        By the names of code: for each parameter of the kernel the number of the step's operand,
        inputs first.
    forms
        What cells hold.
    """

    functions: Sequence[FunctionCode]
    steps: Sequence[Step]
    tensors: Mapping[str, Tensor]
    forms: Sequence[Form]
    slots: Mapping[str, int]
    kernels: Mapping[str, int]
    arguments: Mapping[str, Sequence[int]]
    frames: Frames

    @property
    def has_heap(self) -> bool:
        """Whether it makes cells, or takes memory for calls."""
        return bool(self.forms or self.frames.regions)


def network_text(program: Program) -> str:
    """The module's text; the same for networks of the same steps, whatever their names."""
    begin, count = program.frames.references[program.functions[0].name]
    return "\n".join(
        (
            head_text(begin, count * REFERENCE_BYTES),
            heap_text() if program.has_heap else "",
            *_dispatcher(len(program.functions)),
            *(
                line
                for number in range(len(program.functions))
                for line in _Function(program, number).lines()
            ),
        )
    )


def _dispatcher(count: int) -> Iterator[str]:
    """`@enter`: runs a function, and those that it goes on with, to the end."""
    yield "define internal i64 @enter(ptr %state, i64 %begin, ptr %first, ptr %second) {"
    yield "entry:"
    yield f"  %next.at = getelementptr i8, ptr %state, i64 {NetworkState.next.offset}"
    yield f"  %spare.at = getelementptr i8, ptr %state, i64 {NetworkState.spare.offset}"
    yield "  br label %again"
    yield "again:"
    yield "  %number = phi i64 [ %begin, %entry ], [ %following, %on ]"
    yield "  %frame = phi ptr [ %first, %entry ], [ %frame.next, %on ]"
    yield "  %spare = phi ptr [ %second, %entry ], [ %spare.next, %on ]"
    yield "  %stops = call i64 @breathe(ptr %state)"
    yield "  %goes = icmp eq i64 %stops, 0"
    yield "  br i1 %goes, label %run, label %stop"
    yield "run:"
    labels = " ".join(f"i64 {number}, label %f{number}" for number in range(1, count))
    yield f"  switch i64 %number, label %f0 [ {labels} ]"
    for number in range(count):
        yield f"f{number}:"
        yield f"  %r{number} = call i64 @f{number}(ptr %state, ptr %frame, ptr %spare)"
        yield "  br label %ended"
    yield "ended:"
    results = ", ".join(f"[ %r{number}, %f{number} ]" for number in range(count))
    yield f"  %status = phi i64 {results}"
    yield f"  %over = icmp ult i64 %status, {FIRST}"
    yield "  br i1 %over, label %end, label %on"
    yield "on:"
    yield f"  %following = sub i64 %status, {FIRST}"
    yield "  %frame.next = load ptr, ptr %next.at"
    yield "  %spare.next = load ptr, ptr %spare.at"
    yield "  br label %again"
    yield "stop:"
    yield f"  ret i64 {STOPPED}"
    yield "end:"
    yield "  ret i64 %status"
    yield "}"


class _Function:
    """The text of one function."""

    def __init__(self, program: Program, number: int) -> None:
        self._program = program
        self._code = program.functions[number]
        self._number = number
        self._numbers = {each.name: at for at, each in enumerate(program.functions)}
        self._lines: list[str] = []
        self._count = 0

    def lines(self) -> Sequence[str]:
        """Its definition; each instruction begins a block, so that others can jump to it."""
        given = "ptr %state, ptr %given, ptr %given.spare"
        self._lines = [f"define internal i64 @f{self._number}({given}) {{", "entry:"]
        for name in ("slots", "workspace", "launch", "frames", "results", "waiting"):
            offset = getattr(NetworkState, name).offset
            self._put(f"%{name}.at = getelementptr i8, ptr %state, i64 {offset}")
            if name != "waiting":
                self._put(f"%{name} = load ptr, ptr %{name}.at")
        self._put("%place = alloca ptr")
        self._put("store ptr %given, ptr %place")
        self._put("%spare = alloca ptr")
        self._put("store ptr %given.spare, ptr %spare")
        self._put("br label %i0")
        for at, instruction in enumerate(self._code.instructions):
            self._lines.append(f"i{at}:")
            self._put(f"%frame{at} = load ptr, ptr %place")
            self._instruction(at, instruction)
        self._lines.append("stop:")
        self._put(f"ret i64 {STOPPED}")
        return (*self._lines, "}")

    def _instruction(self, at: int, instruction: Instruction) -> None:
        match instruction:
            case RunStep(step=number):
                self._step(at, number)
            case Move(source=source, target=target):
                self._assign(self._address(at, source), self._address(at, target), target)
                self._put(f"br label %i{at + 1}")
            case MoveRow() as move:
                self._move_row(at, move)
            case Branch(condition=condition, otherwise=otherwise):
                self._put(f"%bool{at} = load i8, ptr {self._address(at, condition)}")
                self._put(f"%holds{at} = icmp ne i8 %bool{at}, 0")
                self._put(f"br i1 %holds{at}, label %i{at + 1}, label %i{otherwise}")
            case Jump(target=number):
                self._go_to(at, number)
            case CallFunction(function=name, inputs=inputs, outputs=outputs):
                self._call(at, name, inputs, outputs)
            case TailCall(function=name, inputs=inputs):
                self._goes_on(at, name, inputs)
            case Return():
                self._return(at)
            case MakeCell(form=form, fields=fields, target=target):
                self._make(at, form, fields, target)
            case BranchForm(source=source, form=form, otherwise=otherwise):
                _, same = self._form(at, source, form)
                self._put(f"br i1 {same}, label %i{at + 1}, label %i{otherwise}")
            case ReadCell(form=form, source=source, fields=fields):
                self._read(at, form, source, fields)
            case _:
                assert_never(instruction)

    def _move_row(self, at: int, move: MoveRow) -> None:
        target, size = self._program.tensors[move.target], self._program.tensors[move.source].bytes
        row = self._new(f"load i64, ptr {self._address(at, move.index)}")
        within = self._new(f"icmp ult i64 {row}, {target.shape[0]}")
        self._put(f"br i1 {within}, label %row{at}, label %i{at + 1}")
        self._lines.append(f"row{at}:")
        offset = self._new(f"mul i64 {row}, {size}")
        start = self._address(at, move.target)
        place = self._new(f"getelementptr i8, ptr {start}, i64 {offset}")
        self._copy(self._address(at, move.source), place, size)
        self._put(f"br label %i{at + 1}")

    def _step(self, at: int, number: int) -> None:
        step = self._program.steps[number]
        operands = (*step.inputs, *step.outputs)
        positions = self._program.arguments[step.code]
        addresses = [self._address(at, operands[position]) for position in positions]
        kernel = self._slot(self._program.kernels[step.code])
        passed = ", ".join(f"ptr {each}" for each in (*addresses, "%workspace", "%launch"))
        self._put(f"call void {kernel}({passed})")
        self._stops(f"%stopped{at}", f"call i64 @after(ptr %state, i64 {number})", f"i{at + 1}")

    def _go_to(self, at: int, number: int) -> None:
        """Goes on with another instruction; the caller may stop loops."""
        if number <= at:
            self._stops(f"%breath{at}", "call i64 @breathe(ptr %state)", f"on{at}")
            self._lines.append(f"on{at}:")
        self._put(f"br label %i{number}")

    def _stops(self, name: str, computed: str, on: str) -> None:
        """Goes on at a label if what is computed is 0."""
        self._put(f"{name} = {computed}")
        self._put(f"{name}.goes = icmp eq i64 {name}, 0")
        self._put(f"br i1 {name}.goes, label %{on}, label %stop")

    # Cells ------------------------------------------------------------------------------------

    def _make(self, at: int, form: int, fields: Sequence[str], target: str) -> None:
        layout = CellLayout.of(self._program.forms[form])
        numbers = f"i64 {form}, i64 {layout.references}, i64 {layout.bytes}"
        cell = self._new(f"call ptr @make(ptr %state, {numbers})")
        none = self._new(f"icmp eq ptr {cell}, null")
        self._put(f"br i1 {none}, label %stop, label %made{at}")
        self._lines.append(f"made{at}:")
        for number, name in enumerate(fields):
            reference = refers(self._program.tensors, name)
            place = self._in_cell(cell, layout, number, reference=reference)
            if reference:
                held = self._new(f"load ptr, ptr {self._address(at, name)}")
                self._put(f"call void @keep(ptr {held})")
                self._put(f"store ptr {held}, ptr {place}")
            else:
                self._copy(self._address(at, name), place, layout.sizes[number])
        self._put(f"call void @refer(ptr %state, ptr {self._address(at, target)}, ptr {cell})")
        self._put(f"br label %i{at + 1}")

    def _read(self, at: int, form: int, source: str, fields: Sequence[str]) -> None:
        layout = CellLayout.of(self._program.forms[form])
        cell, same = self._form(at, source, form)
        self._put(f"br i1 {same}, label %read{at}, label %other{at}")
        self._lines.append(f"other{at}:")
        self._fail(Failure.FORM, self._number)
        self._lines.append(f"read{at}:")
        for number, name in enumerate(fields):
            reference = refers(self._program.tensors, name)
            place = self._in_cell(cell, layout, number, reference=reference)
            if reference:
                self._assign(place, self._address(at, name), name)
            else:
                self._copy(place, self._address(at, name), layout.sizes[number])
        self._put(f"br label %i{at + 1}")

    def _form(self, at: int, source: str, form: int) -> tuple[str, str]:
        """A reference's cell, and whether it has a form."""
        cell = self._new(f"load ptr, ptr {self._address(at, source)}")
        place = self._new(f"getelementptr i8, ptr {cell}, i64 8")
        found = self._new(f"load i32, ptr {place}")
        return cell, self._new(f"icmp eq i32 {found}, {form}")

    def _in_cell(self, cell: str, layout: CellLayout, number: int, *, reference: bool) -> str:
        offset = layout.place(number, reference=reference)
        return self._new(f"getelementptr i8, ptr {cell}, i64 {offset}")

    def _assign(self, source: str, target: str, name: str) -> None:
        """Copies a tensor as `name`, or refers to the cell that another place refers to."""
        if not refers(self._program.tensors, name):
            self._copy(source, target, self._program.tensors[name].bytes)
            return
        cell = self._new(f"load ptr, ptr {source}")
        self._put(f"call void @keep(ptr {cell})")
        self._put(f"call void @refer(ptr %state, ptr {target}, ptr {cell})")

    def _leave(self, frame: str) -> None:
        """The function's frame is free, and uses no cells."""
        begin, count = self._program.frames.references[self._code.name]
        if count:
            first = self._new(f"getelementptr i8, ptr {frame}, i64 {begin}")
            self._put(f"call void @leave(ptr %state, ptr {first}, i64 {count})")

    def _fail(self, failure: Failure, function: int) -> None:
        for field, value in (
            (NetworkState.failure, failure.value),
            (NetworkState.failed, function),
        ):
            place = self._new(f"getelementptr i8, ptr %state, i64 {field.offset}")
            self._put(f"store i64 {value}, ptr {place}")
        self._put("br label %stop")

    # Calls ------------------------------------------------------------------------------------

    def _return(self, at: int) -> None:
        for number, result in enumerate(self._code.results):
            where = self._address(at, result)
            if refers(self._program.tensors, result):
                where = self._new(f"load ptr, ptr {where}")
                self._put(f"call void @keep(ptr {where})")
            place = self._new("getelementptr ptr, ptr %results, i64 " + str(number))
            self._put(f"store ptr {where}, ptr {place}")
        self._leave(f"%frame{at}")
        self._put(f"ret i64 {DONE}")

    def _call(self, at: int, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        number, frames = self._numbers[name], self._program.frames
        region, other = frames.regions.get(name), "null"
        if frames.regions:
            self._wait(at, number)
        if region is None:
            frame = self._new(f"getelementptr i8, ptr %frames, i64 {frames.first[name]}")
        else:
            kind = len(self._program.forms) + number
            numbers = f"i64 {kind}, i64 {region.bytes}, i64 {ALIGNMENT}"
            frame = self._new(f"call ptr @allocate(ptr %state, {numbers})")
            none = self._new(f"icmp eq ptr {frame}, null")
            self._put(f"br i1 {none}, label %stop, label %region{at}")
            self._lines.append(f"region{at}:")
            other = self._new(f"getelementptr i8, ptr {frame}, i64 {region.second}")
        self._pass(at, name, inputs, frame)
        operands = f"ptr %state, i64 {number}, ptr {frame}, ptr {other}"
        self._stops(f"%status{at}", f"call i64 @enter({operands})", f"back{at}")
        self._lines.append(f"back{at}:")
        for position, output in enumerate(outputs):
            where = self._new(f"getelementptr ptr, ptr %results, i64 {position}")
            source = self._new(f"load ptr, ptr {where}")
            target = self._address(at, output)
            if refers(self._program.tensors, output):
                self._put(f"call void @refer(ptr %state, ptr {target}, ptr {source})")
            else:
                self._copy(source, target, self._program.tensors[output].bytes)
        if region is not None:
            self._put(f"call void @recycle(ptr %state, i64 {kind}, ptr {frame})")
        if frames.regions:
            self._put(f"store i64 %waiting{at}, ptr %waiting.at")
        self._put(f"br label %i{at + 1}")

    def _wait(self, at: int, number: int) -> None:
        """One more call waits for a result, if that is not too many."""
        self._put(f"%waiting{at} = load i64, ptr %waiting.at")
        self._put(f"%many{at} = icmp uge i64 %waiting{at}, {MAX_CALLS}")
        self._put(f"br i1 %many{at}, label %deep{at}, label %calls{at}")
        self._lines.append(f"deep{at}:")
        self._fail(Failure.CALLS, number)
        self._lines.append(f"calls{at}:")
        more = self._new(f"add i64 %waiting{at}, 1")
        self._put(f"store i64 {more}, ptr %waiting.at")

    def _goes_on(self, at: int, name: str, inputs: Sequence[str]) -> None:
        frames = self._program.frames
        if name in frames.regions:
            frame = self._new("load ptr, ptr %spare")
        else:
            frame = self._new(f"getelementptr i8, ptr %frames, i64 {frames.first[name]}")
            if name == self._code.name:
                # The frame that is not this one.
                second = frames.second[name]
                other = self._new(f"getelementptr i8, ptr %frames, i64 {second}")
                here = self._new(f"icmp eq ptr %frame{at}, {frame}")
                frame = self._new(f"select i1 {here}, ptr {other}, ptr {frame}")
        self._pass(at, name, inputs, frame)
        self._leave(f"%frame{at}")
        if name == self._code.name:
            self._put(f"store ptr {frame}, ptr %place")
            self._put(f"store ptr %frame{at}, ptr %spare")
            self._go_to(at, 0)
            return
        for field, value in ((NetworkState.next, frame), (NetworkState.spare, f"%frame{at}")):
            where = self._new(f"getelementptr i8, ptr %state, i64 {field.offset}")
            self._put(f"store ptr {value}, ptr {where}")
        self._put(f"ret i64 {FIRST + self._numbers[name]}")

    def _pass(self, at: int, name: str, inputs: Sequence[str], frame: str) -> None:
        """Copies operands to the parameters of a function, in a frame of it."""
        called, frames = self._program.functions[self._numbers[name]], self._program.frames
        begin, count = frames.references[name]
        if count:
            first = self._new(f"getelementptr i8, ptr {frame}, i64 {begin}")
            size = count * REFERENCE_BYTES
            self._put(f"call void @llvm.memset.p0.i64(ptr {first}, i8 0, i64 {size}, i1 false)")
        for source, param in zip(inputs, called.params, strict=True):
            place = self._program.tensors[param].place
            offset = frames.places.get(param)
            if offset is None:
                assert isinstance(place, Arena), "a parameter lies in its function's frame"
                offset = place.offset
            target = self._new(f"getelementptr i8, ptr {frame}, i64 {offset}")
            self._assign(self._address(at, source), target, param)

    def _copy(self, source: str, target: str, size: int) -> None:
        operands = f"ptr {target}, ptr {source}, i64 {size}, i1 false"
        self._put(f"call void @llvm.memcpy.p0.p0.i64({operands})")

    def _address(self, at: int, name: str) -> str:
        """The address of a tensor for instruction `at`."""
        place = self._program.tensors[name].place
        offset = place.offset if isinstance(place, Arena) else self._program.frames.places.get(name)
        if offset is not None:
            return self._new(f"getelementptr i8, ptr %frame{at}, i64 {offset}")
        return self._slot(self._program.slots[name])

    def _slot(self, number: int) -> str:
        where = self._new(f"getelementptr ptr, ptr %slots, i64 {number}")
        return self._new(f"load ptr, ptr {where}")

    def _new(self, computed: str) -> str:
        """The name of a value that is computed here."""
        self._count += 1
        self._put(f"%v{self._count} = {computed}")
        return f"%v{self._count}"

    def _put(self, line: str) -> None:
        self._lines.append(f"  {line}")
