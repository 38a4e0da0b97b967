"""Writes a module as Verilog: ports in order, declarations, statements."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

from tandem.hw.rtl.verilog_module import Assign, Block, Signal, VerilogModule, names_in

LONGEST = 100
"""The longest line, but for words without a space."""

_OPERATOR = re.compile(r"(?<=[=(] )([~!&|^]) (?=[\w{(~$])|(?<=\()([~!&|^]) (?=[\w{(~$])")
_PLACES = re.compile(r'\(\* src = "(.*)" \*\)')


def write_module(
    module: VerilogModule,
    *,
    comment: Callable[[str], str] = lambda port: "",
    group: Callable[[str], str] = lambda port: "",
) -> str:
    """The text of a module.

    Parameters
    ----------
    comment
        What a port is, to stand beside it.
    group
        A title above the ports of one group.
    """
    _move_attributes(module)
    lines = [f"module {module.name}(", *_ports(module, comment, group), ");"]
    for signal in module.signals.values():
        if not signal.direction:
            lines += _attributes(signal.attributes)
            lines.append(f"  {_declaration(signal)};")
    for statement in module.statements:
        if isinstance(statement, Block):
            lines += _attributes(statement.attributes)
        text = _OPERATOR.sub(lambda found: found[1] or found[2], statement.text)
        lines += (part for line in text.splitlines() for part in _wrapped(line))
    return "\n".join((*lines, "endmodule", ""))


def order_ports(module: VerilogModule, order: Sequence[str], *, mixed: bool) -> None:
    """Put ports in an order: clock and reset, inputs, outputs, or, if `mixed`, as in `order`.

    Ports that `order` lacks come first.
    """
    places = {name: place for place, name in enumerate(order)}
    outputs = {name for name in module.ports if module.signals[name].direction == "output"}
    module.ports.sort(
        key=lambda name: (name in places, not mixed and name in outputs, places.get(name, 0), name)
    )


def _ports(
    module: VerilogModule, comment: Callable[[str], str], group: Callable[[str], str]
) -> Iterator[str]:
    title = ""
    for place, name in enumerate(module.ports):
        if group(name) != title:
            title = group(name)
            yield from [f"  // {title}"] if title else []
        signal = module.signals[name]
        yield from _attributes(signal.attributes)
        comma = "" if place == len(module.ports) - 1 else ","
        words = f"  // {comment(name)}" if comment(name) else ""
        yield f"  {signal.direction} {_declaration(signal)}{comma}{words}"


def _wrapped(line: str) -> list[str]:
    """A line of a statement as lines that are not too long."""
    if len(line) <= LONGEST:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(),
        LONGEST,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _move_attributes(module: VerilogModule) -> None:
    """To what is assigned, for not all tools take attributes of an assignment."""
    for statement in module.statements:
        if isinstance(statement, Assign):
            for name in names_in(statement.target):
                module.signals[name].attributes += statement.attributes


def _attributes(attributes: Sequence[str]) -> Iterator[str]:
    """A line for each attribute; the places in source are one, as Yosys joins them."""
    places = dict.fromkeys(found[1] for each in attributes if (found := _PLACES.match(each)))
    yield from (f"  {each}" for each in attributes if not _PLACES.match(each))
    if places:
        yield f'  (* src = "{"|".join(places)}" *)'


def _declaration(signal: Signal) -> str:
    kind = "reg" if signal.is_register else "wire"
    words = f"[{signal.words - 1}:0]" if signal.words else ""
    return " ".join(part for part in (kind, signal.range, signal.name, words) if part)
