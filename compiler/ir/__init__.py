"""The loop language of the accelerator and the CPU.

Its grammar, as it is printed (`printer`) and parsed (`parser`):

    function  = "func" name "(" buffers ")" "->" "(" buffers ")" ":" stmt
    buffer    = name ":" dtype "[" extents "]" ["@" scope]

    stmt      = for | if | alloc | block | store | invoke | "pass"  one or more, indented
    for       = "for" var "in" expr [kind] ":" stmt                 from 0; serial by default
    if        = "if" expr ":" stmt
    alloc     = "alloc" buffer                                      to the end of this indentation
    block     = "block" name "(" iters ")" ":" [where] [init] stmt
    iter      = ("spatial" | "reduce") var "<" extent "=" expr
    where     = "where" expr {"," expr}                             skips other iterations
    init      = "init:" stmt                                        where all reduce axes are 0
    store     = buffer-name "[" exprs "]" "=" expr
    invoke    = "invoke" intrinsic-name "(" regions ")"             inputs, then outputs
    region    = buffer-name "[" {expr ":+" extent} "]"

    expr      = const | var | buffer-name "[" exprs "]" | "(" expr ")"
              | ("-" | "~") expr | expr infix expr                  precedence as in Python
              | dtype "(" expr ")" | "select(" expr "," expr "," expr ")"
              | "bits_" dtype "(" expr ")"                          the same bits as that type
              | ("min" | "max" | "pow" | "exp" | ...) "(" exprs ")"
    const     = number | "inf" | "nan" | "True" | "False"           of the expected type
              | dtype "(" number ")"                                where none is expected: int64

A schedule rewrites programs in which each computation is a `Block`; lowering then replaces blocks
by plain loops. Both are programs: `interpreter` runs them, and `verify` checks that they are legal.
Nodes are frozen, so that a rewritten program shares the unchanged parts.
"""

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
    Kind,
)
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.operations import (
    BinaryOp,
    UnaryOp,
)
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    If,
    Invoke,
    IterKind,
    LoopKind,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    Store,
)

__all__ = [
    "BOOL",
    "FLOAT32",
    "FLOAT64",
    "INDEX",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "Alloc",
    "Binary",
    "BinaryOp",
    "Block",
    "BlockIter",
    "Buffer",
    "Cast",
    "Const",
    "DType",
    "Expr",
    "For",
    "If",
    "Invoke",
    "IterKind",
    "Kind",
    "Load",
    "LoopKind",
    "PrimFunc",
    "Region",
    "Reinterpret",
    "Scope",
    "Select",
    "Seq",
    "Stmt",
    "Store",
    "Unary",
    "UnaryOp",
    "Var",
]
