"""Networks of a few steps with kernels in C: in a row, in loops and calls, with cells."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.runtime.artifact import (
    Arena,
    Branch,
    BranchForm,
    CallFunction,
    ConstantPlace,
    Form,
    FunctionCode,
    Input,
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
    TailCall,
    Tensor,
)
from tandem.runtime.artifact.instructions import Instruction
from tandem.workbench.export.network_source import NetworkSource
from tests.support.workbench.small_networks import (
    kernel,
    manifest,
    ports_of,
    source_of,
    step,
    tensor,
)

N = "int32_t *"
KERNELS = f"""
static int ran;
int kernels_run(void) {{ return ran; }}
#define KERNEL(name, line) void kernel_##name line
KERNEL(add, (const {N}a, const {N}b, {N}c, void *w, void *l))
{{
    ran += w && !l;
    for (int i = 0; i < 4; i++) c[i] = a[i] + b[i];
}}
KERNEL(scale, ({N}c, const {N}a, void *w, void *l))
{{
    ran += w && !l;
    for (int i = 0; i < 4; i++) c[i] = 3 * a[i];
}}
"""


def straight() -> Manifest:
    """y = 3 * (x + w)."""
    return manifest(
        [
            tensor("x", [4], "int32", Input()),
            tensor("w", [4], "int32", ConstantPlace()),
            tensor("a", [4], "int32", Arena(64)),
            tensor("y", [4], "int32", Output()),
        ],
        "x",
        "y",
        [step("add", "x w", "a"), step("scale", "a", "y")],
        80,
    )


ADD, SCALE = kernel("add", "a b c", "c"), kernel("scale", "c a", "c")


NUMBERS = """
#define KERNEL(name, line) void kernel_##name line
KERNEL(positive, (const int64_t *n, uint8_t *c, void *w, void *l))
{ (void)w, (void)l; *c = *n > 0; }
KERNEL(plus, (const int64_t *a, const int64_t *b, int64_t *c, void *w, void *l))
{ (void)w, (void)l; *c = *a + *b; }
KERNEL(less, (const int64_t *a, int64_t *b, void *w, void *l)) { (void)w, (void)l; *b = *a - 1; }
const unsigned char net_weights[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
"""
POSITIVE, PLUS = kernel("positive", "n c", "c"), kernel("plus", "a b c", "c")
LESS = kernel("less", "a b", "b")


def number(name: str, offset: int, dtype: str = "int64") -> Tensor:
    return tensor(name, [], dtype, Arena(offset))


def function(
    name: str, params: str, results: str, instructions: Sequence[Instruction], frame_bytes: int
) -> FunctionCode:
    return FunctionCode(
        name, (*params.split(),), (*results.split(),), (), (*instructions,), frame_bytes
    )


def looping() -> Manifest:
    """rows[n] = 1 + ... + n, by a function that ends with a call of itself, and parity = n % 2, by
    two functions that end with calls of each other."""
    return manifest(
        [
            tensor("n", [], "int64", Input()),
            tensor("zero", [], "int64", ConstantPlace()),
            tensor("one", [], "int64", ConstantPlace()),
            tensor("rows", [4], "int64", Output()),
            tensor("parity", [], "int64", Output()),
            *(number("total", 0), number("odd_n", 8), number("unused", 16)),
            *(number("i", 0), number("sum", 8), number("more", 16), number("fewer", 24)),
            number("goes_on", 32, "bool"),
            *(number("e", 0), number("e_less", 8), number("e_on", 16, "bool")),
            *(number("o", 0), number("o_less", 8), number("o_on", 16, "bool")),
            *(number("e_result", 24), number("o_result", 24)),
        ],
        "n",
        "rows parity",
        [
            step("positive", "i", "goes_on"),
            step("plus", "sum i", "more"),
            step("less", "i", "fewer"),
            step("positive", "e", "e_on"),
            step("less", "e", "e_less"),
            step("positive", "o", "o_on"),
            step("less", "o", "o_less"),
        ],
        24,
        [
            function(
                *("main", "", ""),
                [
                    CallFunction("sum_to", ("n", "zero"), ("total",)),
                    MoveRow("total", "rows", "n"),
                    CallFunction("even", ("n",), ("odd_n",)),
                    Move("odd_n", "parity"),
                    Return(),
                ],
                24,
            ),
            function(
                *("sum_to", "i sum", "sum"),
                [
                    RunStep(0),
                    Branch("goes_on", 5),
                    RunStep(1),
                    RunStep(2),
                    TailCall("sum_to", ("fewer", "more")),
                    Return(),
                ],
                40,
            ),
            function(
                *("even", "e", "e_result"),
                [
                    RunStep(3),
                    Branch("e_on", 4),
                    RunStep(4),
                    TailCall("odd", ("e_less",)),
                    Move("zero", "e_result"),
                    Jump(6),
                    Return(),
                ],
                32,
            ),
            function(
                *("odd", "o", "o_result"),
                [
                    RunStep(5),
                    Branch("o_on", 4),
                    RunStep(6),
                    TailCall("even", ("o_less",)),
                    Move("one", "o_result"),
                    Return(),
                ],
                32,
            ),
        ],
    )


def nested() -> Manifest:
    """y = C(n + 2, 3): a call of `f` waits for another, and keeps sums in a list of cells, which
    a loop adds up: the sum over i of 1 + ... + i."""
    reference = Reference()
    return manifest(
        [
            tensor("n", [], "int64", Input()),
            tensor("zero", [], "int64", ConstantPlace()),
            tensor("one", [], "int64", ConstantPlace()),
            tensor("y", [], "int64", Output()),
            *(tensor(name, [], "int64", reference) for name in ("list", "rest", "grown", "made")),
            *(tensor(name, [], "int64", reference) for name in ("l", "tail")),
            *(number("m", 0), number("on", 8, "bool"), number("fewer", 16), number("below", 24)),
            number("here", 32),
            *(number("sum", 0), number("head", 8), number("more", 16), number("all", 24)),
        ],
        "n",
        "y",
        [
            step("positive", "m", "on"),
            step("less", "m", "fewer"),
            step("plus", "below m", "here"),
            step("plus", "sum head", "more"),
        ],
        32,
        [
            FunctionCode(
                *("main", (), (), ("list", "all")),
                (
                    CallFunction("f", ("n",), ("list", "all")),
                    CallFunction("add", ("list", "zero"), ("y",)),
                    Return(),
                ),
                32,
            ),
            FunctionCode(
                *("f", ("m",), ("made", "here")),
                ("m", "on", "fewer", "below", "here", "rest", "grown", "made"),
                (
                    RunStep(0),
                    Branch("on", 8),
                    RunStep(1),
                    CallFunction("f", ("fewer",), ("rest", "below")),
                    RunStep(2),
                    MakeCell(1, ("here", "rest"), "grown"),
                    Move("grown", "made"),
                    Return(),
                    MakeCell(0, (), "made"),
                    Move("zero", "here"),
                    Return(),
                ),
                40,
            ),
            FunctionCode(
                *("add", ("l", "sum"), ("sum",), ("l", "tail", "sum", "head", "more")),
                (
                    BranchForm("l", 1, 4),
                    ReadCell(1, "l", ("head", "tail")),
                    RunStep(3),
                    TailCall("add", ("tail", "more")),
                    Return(),
                ),
                24,
            ),
        ],
        [Form("list.nil", ()), Form("list.cons", (((), "int64"), None))],
    )


def heap_source(net: Manifest) -> tuple[NetworkSource, tuple[str, ...]]:
    source = source_of(
        *(net, [POSITIVE, PLUS, LESS]), ports=ports_of(net), weights={"zero": 0, "one": 8}
    )
    return source, tuple(source.heap.header(streams=False))
