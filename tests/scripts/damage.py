"""Damaged inputs: models, JSON texts, artifacts and programs, by a seeded generator."""

from __future__ import annotations

import io
import json
import random
import zipfile
from hashlib import sha256
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto

NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 16, 127, 128, 255, 256, 4096, 65535, 65536),
    *(1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32, (1 << 63) - 1, -(1 << 63)),
)
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-38, 1e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "x", "image", "Relu", "x" * 300, "../../x", "a\nb", "a\0b", "\ud800", "größe", "NaN")
CHECKSUM = 64
"""Hexadecimal digits at the end of an artifact."""


def damaged_bytes(data: bytes, source: random.Random) -> bytes:
    """The bytes with some changed, removed, repeated, inserted, or cut off."""
    if not data:
        return source.randbytes(8)
    found = bytearray(data)
    for _ in range(source.randint(1, 4)):
        at, other = (source.randrange(len(data)) for _ in range(2))
        count = source.randint(0, 64)
        match source.randrange(7):
            case 0 | 1 | 2:
                found[at : at + 1] = source.randbytes(1)
            case 3:
                found[at : at + count] = data[other : other + count]
            case 4:
                found[at:at] = source.randbytes(source.randint(0, 8))
            case 5:
                del found[at : at + count]
            case _:
                del found[at:]
    return bytes(found)


def damaged_model(model: ModelProto, source: random.Random) -> bytes:
    """A model of which bytes are changed, or some fields have other values."""
    if source.random() < 0.3:
        return damaged_bytes(model.SerializeToString(), source)
    changed = ModelProto()
    changed.CopyFrom(model)
    for _ in range(source.randint(1, 3)):
        _change_field(source.choice(_messages(changed)), source)
    return bytes(changed.SerializeToString())


def _messages(message: Message) -> list[Message]:
    """A message and all in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in (value,) if isinstance(value, Message) else value:
                found += _messages(part)
    return found


def _change_field(message: Message, source: random.Random) -> None:
    field = source.choice([*message.DESCRIPTOR.fields])
    value: Any = getattr(message, field.name)
    repeated = not isinstance(value, Message | str | bytes | int | float)
    if source.random() < 0.2 or field.type == FieldDescriptor.TYPE_MESSAGE:
        if repeated and len(value) and source.random() < 0.5:
            value.append(source.choice([*value])) if source.random() < 0.5 else value.pop()
        else:
            message.ClearField(field.name)
        return
    new = _value(field, source)
    try:
        if not repeated:
            setattr(message, field.name, new)
        elif len(value) and source.random() < 0.7:
            value[source.randrange(len(value))] = new
        else:
            value.append(new)
    except (ValueError, TypeError):
        # A number out of the field's range.
        message.ClearField(field.name)


def _value(field: FieldDescriptor, source: random.Random) -> Any:
    match field.type:
        case FieldDescriptor.TYPE_STRING:
            return source.choice([text for text in TEXTS if text.isprintable()])
        case FieldDescriptor.TYPE_BYTES:
            return source.randbytes(source.choice([0, 1, 4, 100]))
        case FieldDescriptor.TYPE_FLOAT | FieldDescriptor.TYPE_DOUBLE:
            return source.choice(REALS)
        case _:
            return source.choice(NUMBERS) if source.random() < 0.5 else source.randint(-2, 30)


def damaged_json(text: bytes, source: random.Random) -> bytes:
    """A JSON text with some values replaced, moved or removed; rarely no JSON at all."""
    if source.random() < 0.1:
        return damaged_bytes(text, source)
    value = json.loads(text)
    for _ in range(source.randint(1, 3)):
        value = _changed(value, source)
    return json.dumps(value).encode()


def _changed(value: Any, source: random.Random) -> Any:
    places = _places(value)
    if not places:
        return _json_value(source)
    inside, key = source.choice(places)
    match source.randrange(5):
        case 0 if isinstance(inside, dict):
            del inside[key]
        case 0:
            inside.pop()
        case 1 if isinstance(inside, dict):
            inside[source.choice(TEXTS)] = inside.pop(key)
        case 1:
            inside.append(inside[key])
        case 2 if isinstance(inside[key], int):
            inside[key] += source.choice([-1, 1, 8, -16, 1 << 31])
        case 3:
            other, name = source.choice(places)
            # A copy, so that no value holds itself.
            inside[key] = json.loads(json.dumps(other[name]))
        case _:
            inside[key] = _json_value(source)
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every list and object in a value, with every index or key in it."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list):
        items = [*enumerate(value)]
    return [(value, key) for key, _ in items] + [
        place for _, inner in items for place in _places(inner)
    ]


def _json_value(source: random.Random) -> Any:
    choices: list[Any] = [None, True, False, [], {}, [[]], {"name": 1}, ["requantise"]]
    return source.choice(
        [source.choice(choices), source.choice(NUMBERS), source.choice(REALS), source.choice(TEXTS)]
    )


def damaged_artifact(data: bytes, source: random.Random) -> bytes:
    """An artifact with another part, and with the checksums that are right for it.

    Native code stays as it is: whoever may replace that may run anything.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    name = source.choice([name for name in parts if not name.startswith("code/")])
    match name.partition("/")[0]:
        case "manifest.json" | "config.json":
            parts[name] = damaged_json(parts[name], source)
        case "streams":
            parts[name] = _damaged_stream(parts[name], source)
        case "fallback.tandem":
            parts[name] = damaged_artifact(parts[name], source)
        case _:
            parts[name] = damaged_bytes(parts[name], source)
    if source.random() < 0.05:
        del parts[source.choice([*parts])]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
        archive.comment = comment
    made = file.getvalue()[:-CHECKSUM]
    return made + sha256(made).hexdigest().encode()


def _damaged_stream(data: bytes, source: random.Random) -> bytes:
    line, _, rest = data.partition(b"\n")
    size = int(line.split()[-1])
    header, body = rest[:size], rest[size:]
    if source.random() < 0.5:
        header = damaged_json(header, source)
    else:
        changed = bytearray(body)
        for _ in range(source.randint(1, 8)):
            changed[source.randrange(len(changed))] = source.randrange(256)
        body = bytes(changed)
    return b"".join((line.rpartition(b" ")[0], f" {len(header)}\n".encode(), header, body))
