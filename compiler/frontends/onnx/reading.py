"""ONNX models from files and bytes, checked by the `onnx` package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Final, TypeVar

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import GraphProto, ModelProto, defs, external_data_helper, inliner

from compiler.errors import FrontendError

T = TypeVar("T")


def read_model(source: Path | str | bytes | ModelProto) -> ModelProto:
    """A model from a file, with its external data, or from bytes.

    `import_model` checks that the model is legal.

    Raises
    ------
    FrontendError
        The file or its external data is missing, or the file is no ONNX model.
    """
    if isinstance(source, ModelProto):
        return source
    if isinstance(source, bytes):
        return _parsed(source, "the model")
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"{path}: {error.strerror or error}") from error
    model = _parsed(content, str(path))
    try:
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except (OSError, ValueError, TypeError, onnx.checker.ValidationError) as error:
        raise FrontendError(
            f"{path}: what lies in other files cannot be read: {in_one_line(error)}"
        ) from error
    return model


def _parsed(content: bytes, what: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise FrontendError(f"{what} is no ONNX model, or not all of one") from error
    if not model.HasField("graph") or not model.opset_import or not model.ir_version:
        raise FrontendError(f"{what} is no ONNX model: it has no graph, or no version")
    return model


OLDEST: Final = 7
"""The oldest opset that is supported like the newest.

Of a model of an older opset, operators are taken whose definition was still in force in this one.
"""

_SMALL: Final = 1 << 12
"""The maximum number of elements of an initialiser that may determine shapes."""


def opsets(model: ModelProto) -> dict[str, int]:
    """The opset version of each domain.

    Raises
    ------
    FrontendError
        The version of a domain is newer than the `onnx` package, or no version.
    """
    found = {
        "" if opset.domain == "ai.onnx" else opset.domain: opset.version
        for opset in model.opset_import
    }
    newest = defs.onnx_opset_version()
    if not 1 <= found.get("", 1) <= newest:
        raise FrontendError(f"the model is of opset {found['']}: 1 to {newest} are supported")
    return found


def without_weights(model: ModelProto) -> ModelProto:
    """The model with large initialisers replaced by inputs, and functions inlined, for checks."""
    _readable(model)
    graph = model.graph
    small = ModelProto(
        ir_version=model.ir_version,
        opset_import=model.opset_import,
        functions=model.functions,
    )
    own = small.graph
    own.name = graph.name
    for field in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(own, field).extend(getattr(graph, field))
    declared = {each.name for each in graph.input}
    for tensor in graph.initializer:
        if prod(tensor.dims) <= _SMALL:
            own.initializer.append(tensor)
        elif tensor.name not in declared:
            own.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    if not model.functions:
        return small
    return guarded(lambda: inliner.inline_local_functions(small))


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph, and the graphs in the attributes of its nodes, at any depth."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    yield from all_graphs(inner)


def legal(model: ModelProto) -> None:
    """Raise a `FrontendError` if ONNX's checker or strict shape inference rejects the model."""
    guarded(lambda: onnx.checker.check_model(model))
    guarded(lambda: onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True))


def in_one_line(error: Exception) -> str:
    """The message of an error joined to one line; messages of `onnx` have several lines."""
    return " ".join(str(error).split())


def _readable(model: ModelProto) -> None:
    """Raise a `FrontendError` for strings that are not UTF-8, which protobuf decodes on access."""
    try:
        whole = all(isinstance(each, str) for each in _texts(model))
    except UnicodeDecodeError:
        whole = False
    if not whole:
        raise FrontendError("the model is not legal: a name in it is no text")


def _texts(message: Message) -> Iterator[object]:
    """All strings in a message."""
    for field, value in message.ListFields():
        if field.type not in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE):
            continue
        for element in (value,) if isinstance(value, str | bytes | Message) else value:
            if field.type == FieldDescriptor.TYPE_STRING:
                yield element
            else:
                yield from _texts(element)


def guarded(check: Callable[[], T]) -> T:
    """The result of a call of the `onnx` package, whose errors become a `FrontendError`."""
    try:
        return check()
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        # Raised by the C++ code of `onnx` for inputs that the code does not check.
        RuntimeError,
        ValueError,
        TypeError,
        IndexError,
        OverflowError,
    ) as error:
        raise FrontendError(f"the model is not legal: {in_one_line(error)}") from error
