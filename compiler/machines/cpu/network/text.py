"""The program of a whole network, in LLVM's language.

Each function of the network is one here: `i64 @f3(state, frame)`. It returns 0 when its results are
in place, 1 when the run was stopped, and 2 + n to go on with function n, whose frame is `next` in
the state. Loops and branches of the network are branches here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final, assert_never

from tandem.compiler.machines.cpu.network.frames import Frames
from tandem.runtime.artifact import (
    Arena,
    Branch,
    BranchForm,
    CallFunction,
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
from tandem.runtime.native.network_object import ENTRY
from tandem.runtime.native.network_state import NetworkState
from tandem.runtime.native.pool_state import CallState

DONE, STOPPED, FIRST = 0, 1, 2
"""What functions return: the first numbers of all."""

_HEAD: Final = """
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i64 @now(ptr %state) {
  %time = alloca { i64, i64 }
  %clock.at = getelementptr i8, ptr %state, i64 $clock
  %clock = load i64, ptr %clock.at
  %number = trunc i64 %clock to i32
  call i32 @clock_gettime(i32 %number, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}

; Adds the time since the last step to this one, and lets the caller stop the run.
define internal i64 @after(ptr %state, i64 %step) noinline {
  %now = call i64 @now(ptr %state)
  %last.at = getelementptr i8, ptr %state, i64 $last
  %last = load i64, ptr %last.at
  store i64 %now, ptr %last.at
  %taken = sub i64 %now, %last
  %times.at = getelementptr i8, ptr %state, i64 $times
  %times = load ptr, ptr %times.at
  %time.at = getelementptr i64, ptr %times, i64 %step
  %time = load i64, ptr %time.at
  %longer = add i64 %time, %taken
  store i64 %longer, ptr %time.at
  %counts.at = getelementptr i8, ptr %state, i64 $counts
  %counts = load ptr, ptr %counts.at
  %count.at = getelementptr i64, ptr %counts, i64 %step
  %count = load i64, ptr %count.at
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at
  %call.at = getelementptr i8, ptr %state, i64 $call
  %call = load ptr, ptr %call.at
  %next.at = getelementptr i8, ptr %call, i64 $next_poll
  %next = load i64, ptr %next.at
  %due = icmp sgt i64 %now, %next
  br i1 %due, label %poll, label %rest
poll:
  %every.at = getelementptr i8, ptr %call, i64 $poll_every
  %every = load i64, ptr %every.at
  %later = add i64 %now, %every
  store i64 %later, ptr %next.at
  %poll.at = getelementptr i8, ptr %call, i64 $poll
  %poll.function = load ptr, ptr %poll.at
  call void %poll.function()
  br label %rest
rest:
  %stopped.at = getelementptr i8, ptr %call, i64 $stopped
  %stopped = load i64, ptr %stopped.at
  ret i64 %stopped
}

define i64 @"$entry"(ptr %state) {
  %now = call i64 @now(ptr %state)
  %last.at = getelementptr i8, ptr %state, i64 $last
  store i64 %now, ptr %last.at
  %frames.at = getelementptr i8, ptr %state, i64 $frames
  %frames = load ptr, ptr %frames.at
  %status = call i64 @enter(ptr %state, i64 0, ptr %frames)
  ret i64 %status
}
"""


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
    """

    functions: Sequence[FunctionCode]
    steps: Sequence[Step]
    tensors: Mapping[str, Tensor]
    slots: Mapping[str, int]
    kernels: Mapping[str, int]
    arguments: Mapping[str, Sequence[int]]
    frames: Frames


def network_text(program: Program) -> str:
    """The module's text; the same for networks of the same steps, whatever their names."""
    fields = {name: getattr(NetworkState, name).offset for name, _ in NetworkState._fields_}
    fields |= {
        name: getattr(CallState, name).offset for name in ("poll", "poll_every", "next_poll")
    }
    head = Template(_HEAD).substitute(fields, stopped=CallState.stopped.offset, entry=ENTRY)
    return "\n".join(
        (
            head,
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
    yield "define internal i64 @enter(ptr %state, i64 %begin, ptr %first) {"
    yield "entry:"
    yield f"  %next.at = getelementptr i8, ptr %state, i64 {NetworkState.next.offset}"
    yield "  br label %again"
    yield "again:"
    yield "  %number = phi i64 [ %begin, %entry ], [ %following, %on ]"
    yield "  %frame = phi ptr [ %first, %entry ], [ %frame.next, %on ]"
    labels = " ".join(f"i64 {number}, label %f{number}" for number in range(1, count))
    yield f"  switch i64 %number, label %f0 [ {labels} ]"
    for number in range(count):
        yield f"f{number}:"
        yield f"  %r{number} = call i64 @f{number}(ptr %state, ptr %frame)"
        yield "  br label %ended"
    yield "ended:"
    results = ", ".join(f"[ %r{number}, %f{number} ]" for number in range(count))
    yield f"  %status = phi i64 {results}"
    yield f"  %over = icmp ult i64 %status, {FIRST}"
    yield "  br i1 %over, label %end, label %on"
    yield "on:"
    yield f"  %following = sub i64 %status, {FIRST}"
    yield "  %frame.next = load ptr, ptr %next.at"
    yield "  br label %again"
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
        self._lines = [f"define internal i64 @f{self._number}(ptr %state, ptr %given) {{", "entry:"]
        for name in ("slots", "workspace", "launch", "frames", "results"):
            offset = getattr(NetworkState, name).offset
            self._put(f"%{name}.at = getelementptr i8, ptr %state, i64 {offset}")
            self._put(f"%{name} = load ptr, ptr %{name}.at")
        self._put("%place = alloca ptr")
        self._put("store ptr %given, ptr %place")
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
                size = self._program.tensors[target].bytes
                self._copy(self._address(at, source), self._address(at, target), size)
                self._put(f"br label %i{at + 1}")
            case MoveRow() as move:
                self._move_row(at, move)
            case Branch(condition=condition, otherwise=otherwise):
                self._put(f"%bool{at} = load i8, ptr {self._address(at, condition)}")
                self._put(f"%holds{at} = icmp ne i8 %bool{at}, 0")
                self._put(f"br i1 %holds{at}, label %i{at + 1}, label %i{otherwise}")
            case Jump(target=number):
                self._put(f"br label %i{number}")
            case CallFunction(function=name, inputs=inputs, outputs=outputs):
                self._call(at, name, inputs, outputs)
            case TailCall(function=name, inputs=inputs):
                self._goes_on(at, name, inputs)
            case Return():
                for number, result in enumerate(self._code.results):
                    where = self._address(at, result)
                    place = self._new("getelementptr ptr, ptr %results, i64 " + str(number))
                    self._put(f"store ptr {where}, ptr {place}")
                self._put(f"ret i64 {DONE}")
            case MakeCell() | BranchForm() | ReadCell():
                raise AssertionError("no code is made of networks with a heap")
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
        self._put(f"%stopped{at} = call i64 @after(ptr %state, i64 {number})")
        self._put(f"%goes{at} = icmp eq i64 %stopped{at}, 0")
        self._put(f"br i1 %goes{at}, label %i{at + 1}, label %stop")

    def _call(self, at: int, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        number, first = self._numbers[name], self._program.frames.first[name]
        frame = self._new(f"getelementptr i8, ptr %frames, i64 {first}")
        self._pass(at, name, inputs, frame)
        self._put(f"%status{at} = call i64 @enter(ptr %state, i64 {number}, ptr {frame})")
        self._put(f"%goes{at} = icmp eq i64 %status{at}, {DONE}")
        self._put(f"br i1 %goes{at}, label %back{at}, label %stop")
        self._lines.append(f"back{at}:")
        for position, output in enumerate(outputs):
            where = self._new(f"getelementptr ptr, ptr %results, i64 {position}")
            source = self._new(f"load ptr, ptr {where}")
            self._copy(source, self._address(at, output), self._program.tensors[output].bytes)
        self._put(f"br label %i{at + 1}")

    def _goes_on(self, at: int, name: str, inputs: Sequence[str]) -> None:
        first, second = self._program.frames.first[name], self._program.frames.second[name]
        frame = self._new(f"getelementptr i8, ptr %frames, i64 {first}")
        if name == self._code.name:
            # The frame that is not this one.
            other = self._new(f"getelementptr i8, ptr %frames, i64 {second}")
            here = self._new(f"icmp eq ptr %frame{at}, {frame}")
            frame = self._new(f"select i1 {here}, ptr {other}, ptr {frame}")
            self._pass(at, name, inputs, frame)
            self._put(f"store ptr {frame}, ptr %place")
            self._put("br label %i0")
            return
        self._pass(at, name, inputs, frame)
        where = self._new(f"getelementptr i8, ptr %state, i64 {NetworkState.next.offset}")
        self._put(f"store ptr {frame}, ptr {where}")
        self._put(f"ret i64 {FIRST + self._numbers[name]}")

    def _pass(self, at: int, name: str, inputs: Sequence[str], frame: str) -> None:
        """Copies operands to the parameters of a function, in a frame of it."""
        called = self._program.functions[self._numbers[name]]
        for source, param in zip(inputs, called.params, strict=True):
            tensor = self._program.tensors[param]
            assert isinstance(tensor.place, Arena), "a parameter lies in its function's frame"
            target = self._new(f"getelementptr i8, ptr {frame}, i64 {tensor.place.offset}")
            self._copy(self._address(at, source), target, tensor.bytes)

    def _copy(self, source: str, target: str, size: int) -> None:
        operands = f"ptr {target}, ptr {source}, i64 {size}, i1 false"
        self._put(f"call void @llvm.memcpy.p0.p0.i64({operands})")

    def _address(self, at: int, name: str) -> str:
        """The address of a tensor for instruction `at`."""
        place = self._program.tensors[name].place
        if isinstance(place, Arena):
            return self._new(f"getelementptr i8, ptr %frame{at}, i64 {place.offset}")
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
