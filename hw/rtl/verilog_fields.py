"""Fields of structures in Verilog: a wire for each that is read, in place of a range of bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tandem.hw.rtl.verilog_module import Assign, Block, Signal, VerilogModule

_MODULE = re.compile(r"^module \\(\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_CONNECT = re.compile(
    r"^\s*connect \\(\S+?)\.(\S+) \\(\S+)(?: \[(\d+)(?::(\d+))?\])\n", re.MULTILINE
)
_SLICE = re.compile(r"(?<![\w.$'])([A-Za-z_]\w*)\[(\d+)(?::(\d+))?\](?! <=)")


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `high` to `low` of a signal, by the path of the field in its structure."""

    path: str
    high: int
    low: int


def fields_of(netlist: str) -> dict[str, dict[str, list[Field]]]:
    """The fields of each signal of each module of RTLIL that Amaranth wrote, innermost first."""
    found: dict[str, dict[str, list[Field]]] = {}
    for module in _MODULE.finditer(netlist):
        signals = found.setdefault(module[1], {})
        own: dict[tuple[str, int, int], bool] = {}
        for owner, path, base, high, low in _CONNECT.findall(module[2]):
            field = Field(path.replace(".", "_"), int(high), int(low or high))
            key = (base, field.high, field.low)
            # A signal's own names for its bits come before those of another that is a part of it.
            is_own = owner.replace("__", "_") == base.replace("__", "_")
            if key in own and (own[key] or not is_own):
                continue
            own[key] = is_own
            others = [each for each in signals.get(base, []) if (each.high, each.low) != key[1:]]
            signals[base] = [*others, field]
        for fields in signals.values():
            fields.sort(key=lambda field: (field.high - field.low, field.low))
    return found


def show_fields(
    module: VerilogModule,
    fields: Mapping[str, list[Field]],
    outputs: Mapping[str, frozenset[str]],
) -> None:
    """Read fields of structures by their names.

    Parameters
    ----------
    fields
        The fields of signals, by the names that signals had in RTLIL.
    outputs
        The output ports of every module, which drive what is connected to them.
    """
    known = {module.original.get(name, name): each for name, each in fields.items()}
    taken = module.names()
    made: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        base, high, low = found[1], int(found[2]), int(found[3] or found[2])
        signal = module.signals.get(base)
        if signal is None or signal.words:
            return found[0]
        for field in known.get(base, ()):
            width = field.high - field.low + 1
            if not field.low <= low <= high <= field.high or width == signal.width:
                continue
            name = f"{base}_{field.path}"
            source = f"{base}[{field.high}:{field.low}]" if width > 1 else f"{base}[{field.low}]"
            if made.get(name, source) != source or (name not in made and name in taken):
                continue
            made[name] = source
            if name not in module.signals:
                module.signals[name] = Signal(name, width)
            if high - low + 1 == width:
                return name
            part = f"{high - field.low}:{low - field.low}" if high > low else f"{low - field.low}"
            return f"{name}[{part}]"
        return found[0]

    for statement in module.statements:
        if isinstance(statement, Assign):
            statement.value = _SLICE.sub(named, statement.value)
        elif instance := statement.instance:
            driven = outputs.get(instance["module"], frozenset())
            _show_in_instance(statement, driven, named)
        else:
            statement.text = _SLICE.sub(named, statement.text)
    module.statements[:0] = [Assign(name, source) for name, source in made.items()]


def _show_in_instance(
    statement: Block, driven: frozenset[str], named: Callable[[re.Match[str]], str]
) -> None:
    lines = statement.text.split("\n")
    for place, line in enumerate(lines[1:], 1):
        port = line.strip().removeprefix(".").partition("(")[0]
        if port not in driven:
            lines[place] = _SLICE.sub(named, line)
    statement.text = "\n".join(lines)
