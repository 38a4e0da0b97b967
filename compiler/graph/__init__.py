"""Graphs: programs of operators on tensors, typed and functional, in the manner of Relay.

The whole of the language, as it is printed (`printer`) and parsed (`parser`):

    module    = function {function}                         each after those that it calls
    function  = kind ["[" target "]"] "@" name "(" params ")" ["->" type] ":" body
    kind      = "func" | "kernel" | "stream"
    param     = name ":" type
    body      = {let} ("return" | "yield") atom             indented; "return" ends a function,
                                                            "yield" an inner body
    let       = name [":" type] "=" value
    value     = operator "(" atoms {"," attribute} ")"      a call of an operator
              | "@" name "(" atoms ")"                      a call of a function
              | "(" atoms ")"                               a tuple; of one atom: (a,)
              | name "[" number "]"                         a part of a tuple
              | "if" atom ":" body "else" ":" body
    atom      = name | constant
    constant  = tensor "(" numbers ")"                      written out, if it is small
              | tensor "@" "h" digest                       one of a table
    attribute = name "=" (number | word | type | "none" | "[" numbers "]")

    type      = tensor | "(" types ")"                      of one type: (t,)
    tensor    = dtype "[" {extent} "]"
    extent    = number | [number "*"] symbol {"*" symbol}   as N, or 49*N

Operands are names or constants, never other values: programs are in A-normal form (Flanagan et
al., PLDI'93), a list of names for values instead of Relay's tree of them. What is used twice is
named, so that sharing shows in the text and no walk has to find it; a network of a thousand layers
is a long list, and not a deep tree that recursion cannot walk and careless hashing walks for ever;
and the order of the list is the order in which things run, which memory planning wants. Every name
is defined once in a function, and known from its line to the end of its body.

Nothing has effects. Functions are called by name, each after its definition: there is no recursion
and no function that is a value, so that loops would be a value of their own, as `if` is. A `kernel`
holds operators on tensors only: it is what one piece of code computes, on the host or on the target
that is named; a `stream` calls kernels of its target only.

Which operators there are is no part of the language: a call holds an `OpSpec`, and `operators` has
a registry of them.
"""

from compiler.graph.attributes import Attributes
from compiler.graph.constant import Constant
from compiler.graph.extents import Dim, Extent
from compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    FunctionKind,
    If,
    Let,
    Module,
    Param,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from compiler.graph.opspec import OpSpec, Pattern, Registry
from compiler.graph.types import FunctionType, TensorType, TupleType, Type

__all__ = [
    "Atom",
    "Attributes",
    "Body",
    "Call",
    "Constant",
    "Dim",
    "Extent",
    "Function",
    "FunctionKind",
    "FunctionType",
    "If",
    "Let",
    "Module",
    "OpSpec",
    "Param",
    "Pattern",
    "Registry",
    "TensorType",
    "Tuple",
    "TupleGet",
    "TupleType",
    "Type",
    "Value",
    "Var",
]
