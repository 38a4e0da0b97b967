"""Graphs: programs of operators on tensors, typed and functional, in the manner of Relay.

The grammar of the text form, which `printer` prints and `parser` parses:

    module    = {data} function {function}                  kernels and streams before their callers
    data      = "type" name ["[" names "]"] "=" form {"|" form}
    form      = name ["(" types ")"]                        a constructor, and its fields
    function  = kind ["[" how "]"] "@" name ["[" names "]"] "(" params ")" ["->" type] ":" body
    how       = target ["," template]                       who does it, and by which template
    kind      = "func" | "kernel" | "stream"
    param     = name ":" type
    body      = {let} ("return" | "yield") atom             indented; "return" ends a function,
                                                            "yield" an inner body
    let       = name [":" type] "=" value
    value     = operator "(" atoms {"," attribute} ")"      a call of an operator
              | "@" name "(" atoms ")"                      a call of a function
              | "(" atoms ")"                               a tuple; of one atom: (a,)
              | name "[" number "]"                         an item of a tuple
              | "if" atom ":" body "else" ":" body
              | "@" name                                    a function as a value
              | "partial" ("@" name | name) "(" atoms ")"   a function with first arguments
              | ("grad" | "value_and_grad") "(" "@" name {"," number} ")"
                                                            the gradients of a function, a function
              | "fun" "(" params ")" ["->" type] ":" body   a function that is written here
              | "call" name "(" atoms ")"                   a call of a value that is a function
              | name ["[" types "]"] "(" atoms ")"          a call of a constructor
              | "match" name ":" arm {arm}                  by the constructor of a value; indented
    arm       = (name ["(" names ")"] | "else") ":" body
    atom      = name | constant
    constant  = tensor "(" numbers ")"                      up to 8 elements, no NaN
              | tensor "@" "h" digest                       from a table
    attribute = name "=" (number | word | type | layout | "none" | "[" numbers "]")

    type      = tensor | "(" types ")"                      a tuple of one: (t,)
              | "fn" "(" types ")" "->" type                a function
              | name "[" {extent} "]"                       of an open element type of the function
              | name ["[" types "]"]                        a data type, or a parameter of one
    tensor    = dtype "[" {extent} "]" [layout]             row-major without one
    layout    = "{" {part} "}"                              how it is stored, see `layouts.layout`
    part      = axis | axis "/" size | axis "%" size ["=0"] | "_" | "bytes"
    extent    = number | [number "*"] symbol {"*" symbol}   as N, or 49*N

Operands are names or constants, never other values: programs are in A-normal form (Flanagan et
al., PLDI'93), a list of bindings instead of Relay's tree of values. A value that is used
twice has a name, so that sharing is explicit; a network of a thousand layers is a long list instead
of a tree too deep for recursion and exponential to hash; and the order of the list is the order of
execution, which memory planning needs. Every name is defined once in a function, and in
scope from its line to the end of its body.

There are no side effects. A function that stands above its callers and calls nothing by name is
part of the call, as a value; all others are called by name, before their definition too, and have
to declare their result: so functions are recursive, and a loop is a function that ends by calling
itself. A function that becomes a value is called by name too. `fun`, `fn`, `partial`, `grad`,
`value_and_grad`, `call`, `type` and `match` may be names: what follows tells the difference. Names
and declared types keep inference local and digests linear. Data types stand before functions, and
may refer to one another; extents in them are numbers. Definitions belong to the function at the end
of the text. A `kernel` contains only operators and tuples and is compiled to one loop program, for
the host or the named target; a `stream` contains only tuples, views and calls of kernels of its
target.

The set of operators is not part of the language: a call refers to an `OpSpec`, and `operators` has
a registry of operators.
"""

from tandem.compiler.graph.attributes import Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.extents import Dim, Extent
from tandem.compiler.graph.nodes import (
    Apply,
    Arm,
    Atom,
    Body,
    Call,
    Construct,
    Fun,
    Function,
    FunctionKind,
    Global,
    Gradient,
    If,
    Let,
    Match,
    Module,
    Param,
    Partial,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.opspec import OpPattern, OpSpec, Registry
from tandem.compiler.graph.types import (
    Constructor,
    DataType,
    Declaration,
    Declarations,
    FunctionType,
    TensorType,
    TupleType,
    Type,
)

__all__ = [
    "Apply",
    "Arm",
    "Atom",
    "Attributes",
    "Body",
    "Call",
    "Constant",
    "Construct",
    "Constructor",
    "DataType",
    "Declaration",
    "Declarations",
    "Dim",
    "Extent",
    "Fun",
    "Function",
    "FunctionKind",
    "FunctionType",
    "Global",
    "Gradient",
    "If",
    "Let",
    "Match",
    "Module",
    "OpPattern",
    "OpSpec",
    "Param",
    "Partial",
    "Registry",
    "TensorType",
    "Tuple",
    "TupleGet",
    "TupleType",
    "Type",
    "Value",
    "Var",
]
