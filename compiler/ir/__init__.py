"""The loop language: one for the accelerator and the CPU.

The whole of it, as it is printed (`printer`) and parsed (`parser`):

    function  = "func" name "(" buffers ")" "->" "(" buffers ")" ":" stmt
    buffer    = name ":" dtype "[" extents "]" ["@" scope]

    stmt      = for | if | alloc | block | store | invoke | "pass"  one or more, indented
    for       = "for" var "in" expr [kind] ":" stmt                 from 0; serial unless it says
    if        = "if" expr ":" stmt
    alloc     = "alloc" buffer                                      for all that is below, at this
                                                                    indentation
    block     = "block" name "(" iters ")" ":" [where] [init] stmt
    iter      = ("spatial" | "reduce") var "<" extent "=" expr
    where     = "where" expr {"," expr}                             the turn is left out elsewhere
    init      = "init:" stmt                                        where all that reduces is 0
    store     = buffer-name "[" exprs "]" "=" expr
    invoke    = "invoke" intrinsic-name "(" regions ")"             inputs, then outputs
    region    = buffer-name "[" {expr ":+" extent} "]"

    expr      = const | var | buffer-name "[" exprs "]" | "(" expr ")"
              | ("-" | "~") expr | expr infix expr                  binding as in Python
              | dtype "(" expr ")" | "select(" expr "," expr "," expr ")"
              | ("min" | "max" | "pow" | "exp" | ...) "(" exprs ")"
    const     = number | "inf" | "nan" | "True" | "False"           of the type that is expected
              | dtype "(" number ")"                                where none is: else int64

A schedule rewrites programs in which each computation is a `Block`; lowering then turns blocks into
plain loops. Both are programs: `interpreter` runs either, and `verify` says whether one means
anything. Nodes are frozen, so that a rewritten program shares what it did not touch.
"""

from compiler.ir.buffer import Buffer, Scope
from compiler.ir.dtypes import (
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
    dtype_of,
)
from compiler.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Load,
    Operand,
    Operators,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from compiler.ir.stmt import (
    Alloc,
    Block,
    BlockIter,
    For,
    Function,
    If,
    Invoke,
    IterKind,
    LoopKind,
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
    "Function",
    "If",
    "Invoke",
    "IterKind",
    "Kind",
    "Load",
    "LoopKind",
    "Operand",
    "Operators",
    "Region",
    "Scope",
    "Select",
    "Seq",
    "Stmt",
    "Store",
    "Unary",
    "UnaryOp",
    "Var",
    "dtype_of",
]
