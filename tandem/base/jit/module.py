"""An LLVM module: a compiled function with all that it calls, once for the types of each call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.base.jit.annotations import declared
from tandem.base.jit.sources import Source
from tandem.base.jit.translator import Translator
from tandem.base.jit.types import Type, leaves_of
from tandem.base.jit.values import Value
from tandem.base.jit.writer import Writer

ENTRY = "entry"
"""The symbol of a function of one argument: the address of the leaves, 64 bits each. The function's
result takes their places."""


@dataclass(frozen=True, slots=True)
class _Instance:
    """A function for arguments of certain types: its LLVM name, and the type of its result."""

    name: str
    result: Type


def module_text(source: Source, arguments: Sequence[Type]) -> str:
    """The module with the function of `source` as its entry."""
    module = _Module()
    writer = Writer()
    offset = 0
    values = []
    for kind in arguments:
        leaves = []
        for llvm in leaves_of(kind):
            leaves.append(_leaf(writer, llvm, offset))
            offset += 1
        values.append(Value(kind, tuple(leaves)))
    result = module.call(writer, source, values)
    for at, (llvm, leaf) in enumerate(zip(leaves_of(result.type), result.leaves, strict=True)):
        _put(writer, llvm, leaf, at)
    writer.end("ret void")
    entry = f"define void @{ENTRY}(ptr %leaves) {{\n{writer.body}\n}}\n"
    return entry + "\n".join(module.texts)


def _leaf(writer: Writer, llvm: str, at: int) -> str:
    """Read an argument's leaf."""
    bits = writer.emit(f"load i64, ptr {_address(writer, at)}")
    match llvm:
        case "ptr":
            return writer.emit(f"inttoptr i64 {bits} to ptr")
        case "double":
            return writer.emit(f"bitcast i64 {bits} to double")
        case "i1":
            return writer.emit(f"icmp ne i64 {bits}, 0")
    return bits


def _put(writer: Writer, llvm: str, leaf: str, at: int) -> None:
    """Write a result's leaf."""
    match llvm:
        case "double":
            leaf = writer.emit(f"bitcast double {leaf} to i64")
        case "i1":
            leaf = writer.emit(f"zext i1 {leaf} to i64")
    writer.do(f"store i64 {leaf}, ptr {_address(writer, at)}")


def _address(writer: Writer, at: int) -> str:
    return writer.emit(f"getelementptr i64, ptr %leaves, i64 {at}")


class _Module:
    """Functions in LLVM's language, and the calls between them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._instances: dict[tuple[int, tuple[Type, ...]], _Instance] = {}

    def call(self, writer: Writer, source: Source, arguments: Sequence[Value]) -> Value:
        """Translate a call, and the called function unless it was, for arguments of these types."""
        result = declared(source.python)
        if result is None:
            return Translator(source.python, arguments, writer, self, None).expanded()
        instance = self._instance(source, tuple(value.type for value in arguments), result)
        kinds = [llvm for value in arguments for llvm in leaves_of(value.type)]
        leaves = [leaf for value in arguments for leaf in value.leaves]
        passed = ", ".join(f"{llvm} {leaf}" for llvm, leaf in zip(kinds, leaves, strict=True))
        returned = list(leaves_of(instance.result))
        call = f"call {_whole(returned)} @{instance.name}({passed})"
        match len(returned):
            case 0:
                writer.do(call)
                return Value(instance.result, ())
            case 1:
                return Value(instance.result, (writer.emit(call),))
        found = writer.emit(call)
        parts = [
            writer.emit(f"extractvalue {_whole(returned)} {found}, {at}")
            for at in range(len(returned))
        ]
        return Value(instance.result, tuple(parts))

    def _instance(self, source: Source, kinds: tuple[Type, ...], result: Type) -> _Instance:
        key = (id(source), kinds)
        if (known := self._instances.get(key)) is not None:
            return known
        plain = re.sub(r"\W+", "_", source.python.__qualname__).strip("_")
        instance = _Instance(f"{plain}.{len(self._instances)}", result)
        self._instances[key] = instance
        options = "nounwind alwaysinline" if source.inline else "nounwind"
        parameters: list[str] = []
        values: list[Value] = []
        for kind in kinds:
            leaves = []
            for llvm in leaves_of(kind):
                leaves.append(f"%p{len(parameters)}")
                parameters.append(f"{llvm} {leaves[-1]}")
            values.append(Value(kind, tuple(leaves)))
        if source.llvm:
            body = source.llvm
        else:
            writer = Writer()
            Translator(source.python, values, writer, self, result).translate()
            body = writer.body
        head = f"define internal {_whole(list(leaves_of(result)))} @{instance.name}"
        self.texts.append(f"{head}({', '.join(parameters)}) {options} {{\n{body}\n}}\n")
        return instance


def _whole(kinds: Sequence[str]) -> str:
    """The LLVM type of a result with these leaves."""
    match len(kinds):
        case 0:
            return "void"
        case 1:
            return kinds[0]
    return f"{{{', '.join(kinds)}}}"
