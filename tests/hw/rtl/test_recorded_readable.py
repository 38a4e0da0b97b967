"""What becomes of random modules in Yosys's forms stays what it was: nesting, names, declarations.

Other tests say that the circuit stays; these say that its text is the one that was looked at. The
modules are not Yosys's, whose text depends on its version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tandem.hw.rtl.verilog_module import parse_module
from tandem.hw.rtl.verilog_names import give_names
from tandem.hw.rtl.verilog_nesting import nest
from tandem.hw.rtl.verilog_writer import write_module

CASES = 300
INPUTS = {"a": 1, "b": 1, "c": 1, "v": 4, "w": 4, "job_row": 8}
OUTPUTS = {"y": 1, "z": 4, "x": 8}
REGISTERS = {"q": 1, "r": 4, "count": 8}
ARITHMETIC = ("+", "-", "*", "&", "|", "^", "<<", ">>")
COMPARE = ("==", "!=", "<", "<=", ">", ">=")


class Lines:
    """The lines of a module that is being drawn: each wire without a name is one operator."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.widths = {**INPUTS, **REGISTERS}
        self.lines: list[str] = []
        self.unused: list[str] = []

    def operand(self, width: int) -> str:
        """A signal, a part of one, or a constant, of a width."""
        rng = self.rng
        # Operators that are used once are nested.
        new = [name for name in self.unused if self.widths[name] == width]
        if new and rng.random() < 0.8:
            self.unused.remove(new[-1])
            return new[-1]
        fitting = [name for name, own in self.widths.items() if own == width]
        wider = [name for name, own in self.widths.items() if own > width]
        roll = rng.random()
        if fitting and roll < 0.75:
            return rng.choice(fitting)
        if wider and roll < 0.9:
            name = rng.choice(wider)
            low = rng.randrange(self.widths[name] - width + 1)
            return f"{name}[{low}]" if width == 1 else f"{name}[{low + width - 1}:{low}]"
        return f"{width}'h{rng.randrange(1 << width):x}"

    def expression(self, width: int) -> str:
        """One operator, as Yosys writes it."""
        rng = self.rng
        other = rng.choice((1, 4, 4, 8))
        bits = ["binary", "binary", "inverse", "choice", "operand"]
        bits += ["compare", "compare", "reduce", "not", "signed"] if width == 1 else ["parts"]
        match rng.choice(bits):
            case "binary":
                operator = rng.choice(ARITHMETIC)
                return f"{self.operand(width)} {operator} {self.operand(width)}"
            case "inverse":
                return f"~ {self.operand(width)}"
            case "choice":
                return f"{self.operand(1)} ? {self.operand(width)} : {self.operand(width)}"
            case "compare":
                return f"{self.operand(other)} {rng.choice(COMPARE)} {self.operand(other)}"
            case "reduce":
                first, second = self.operand(1), self.operand(other)
                operands = rng.choice((self.operand(other), f"{{ {first}, {second} }}"))
                return f"{rng.choice('&|^!')} {operands}"
            case "not":
                return f"! {self.operand(other)}"
            case "signed":
                return f"$signed({self.operand(4)}) < $signed({self.operand(4)})"
            case "parts":
                return f"{{ {self.operand(1)}, {self.operand(width - 1)} }}"
            case _:
                return self.operand(width)

    def wire(self, number: int) -> None:
        """A wire without a name, and what it is."""
        width = self.rng.choice((1, 1, 1, 4, 4, 5, 8))
        value, name = self.expression(width), f"_{number}_"
        declared = f"[{width - 1}:0] " if width > 1 else ""
        self.lines += [f"wire {declared}{name};"]
        if self.rng.random() < 0.2:
            self.lines += [f'(* src = "file.py:{number}" *)']
        self.lines += [f"assign {name} = {value};"]
        self.widths[name] = width
        self.unused.append(name)

    def register(self, name: str) -> None:
        """A register that is cleared, enabled, both or neither."""
        width, value = REGISTERS[name], self.operand(REGISTERS[name])
        clear = f"if ({self.rng.choice(('', '!'))}{self.operand(1)}) {name} <= {width}'h0;"
        enable = f"if ({self.operand(1)}) {name} <= {value};"
        match self.rng.randrange(4):
            case 0:
                body = [f"{name} <= {value};"]
            case 1:
                body = [clear, f"else {name} <= {value};"]
            case 2:
                body = [clear, f"else {enable}"]
            case _:
                body = [enable]
        self.lines += ["always @(posedge clk)", *(f"  {line}" for line in body)]


def _module(seed: int) -> str:
    rng = Random(f"verilog {seed}")
    drawn = Lines(rng)
    for number in range(rng.randint(1, 9)):
        drawn.wire(number)
    for name in REGISTERS:
        drawn.register(name)
    if rng.random() < 0.5:
        connected = [f"  .{port}({drawn.operand(1)})," for port in ("first", "second")]
        drawn.lines += ["other part (", *connected, "  .third(job_row)", ");"]
    for name, width in OUTPUTS.items():
        drawn.lines += [f"assign {name} = {drawn.expression(width)};"]
    ports = {"clk": 1, **INPUTS, **OUTPUTS, **REGISTERS}
    header = [f"module m({', '.join(ports)});"]
    for name, width in ports.items():
        declared = f"[{width - 1}:0] " if width > 1 else ""
        direction = "input" if name == "clk" or name in INPUTS else "output"
        kind = "reg" if name in REGISTERS else "wire"
        header += [f"  {direction} {declared}{name};", f"  {kind} {declared}{name};"]
    return "\n".join([*header, *(f"  {line}" for line in drawn.lines), "endmodule\n"])


def _text(seed: int) -> str:
    found = parse_module(_module(seed))
    nest(found)
    give_names(found)
    return write_module(found)


def test_readable_modules(recorded: Callable[[str, Sequence[str]], None]) -> None:
    texts = [_text(seed) for seed in range(CASES)]
    wires = [text.count("assign") for text in texts]
    given = [_module(seed).count("assign") for seed in range(CASES)]
    assert sum(wires) < 0.85 * sum(given)
    recorded("recorded/rtl/readable.txt", texts)
