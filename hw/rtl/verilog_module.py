"""A module of Yosys's Verilog as declarations and statements, for passes that make it readable.

Yosys writes few forms: a declaration, an assignment of one operator, an `always` block of one
register or memory, and an instance. Names are plain words here: an escaped name that Amaranth made
(`\\job.rows`, `\\enable$24`) becomes one that needs no escape.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tandem.hw.rtl.verilog_words import RESERVED

NAMELESS = re.compile(r"_\d+_")
"""A name that Yosys made up."""

_TOKEN = re.compile(
    r"\.(?:\\\S+ |\w+)|\$\w+|\d*'s?[bdho][0-9a-fxz?]+|\d+"
    r"|\\(?P<escaped>\S+) ?|(?P<plain>[A-Za-z_]\w*)"
)
_HEADER = re.compile(r"\Amodule (?P<name>\S+?)\((?P<ports>.*?)\);\n", re.DOTALL)
_DECLARATION = re.compile(
    r"  (?P<kind>input|output|wire|reg) (?P<signed>signed )?(?:\[(?P<high>\d+):0\] )?(?P<name>\w+)"
    r"(?: \[(?P<last>\d+):0\])?;\Z"
)
_ASSIGN = re.compile(r"  assign (?P<target>\w+(?:\[[\d:]+\])?|\{.*?\}) = (?P<value>.*);\Z")
_ATTRIBUTE = re.compile(r"\(\* .*? \*\) ")
_INSTANCE = re.compile(r"  (?P<module>\w+) (?P<name>\w+) \($")
_CONNECTION = re.compile(r"^    \.(?P<port>\w+)\((?P<value>.*)\),?$", re.MULTILINE)
_KEYWORDS = frozenset(
    "assign always begin else end endmodule if input module output posedge reg signed wire".split()
)


@dataclass(slots=True)
class Signal:
    """A declared wire, register or memory; `words` is the depth of a memory."""

    name: str
    width: int
    is_register: bool = False
    direction: str = ""
    words: int = 0
    attributes: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The range of bits as declared, or nothing for a bit."""
        return f"[{self.width - 1}:0]" if self.width > 1 or self.words else ""


@dataclass(slots=True)
class Assign:
    """A continuous assignment."""

    target: str
    value: str
    attributes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The statement."""
        return f"  assign {self.target} = {self.value};"


@dataclass(slots=True)
class Block:
    """An `always` block or an instance, as text."""

    text: str
    attributes: tuple[str, ...] = ()

    @property
    def instance(self) -> re.Match[str] | None:
        """Module and name of an instance."""
        return _INSTANCE.match(self.text.partition("\n")[0])

    @property
    def connections(self) -> list[tuple[str, str]]:
        """The ports of an instance, with what is connected to each."""
        return [(found["port"], found["value"]) for found in _CONNECTION.finditer(self.text)]


@dataclass(slots=True)
class VerilogModule:
    """A module: signals by name, and statements in order.

    `original` has the names that Yosys escaped, and others that changed, with what they are now.
    """

    name: str
    ports: list[str]
    original: dict[str, str] = field(default_factory=dict)
    signals: dict[str, Signal] = field(default_factory=dict)
    statements: list[Assign | Block] = field(default_factory=list)

    @property
    def memories(self) -> list[Signal]:
        """The arrays of the module."""
        return [signal for signal in self.signals.values() if signal.words]

    def names(self) -> set[str]:
        """All names that are taken."""
        found = {name for statement in self.statements for name in names_in(statement.text)}
        return found | self.signals.keys()

    def uses(self) -> Counter[str]:
        """How often each name stands in a statement, but as the whole target of an assignment."""
        found: Counter[str] = Counter()
        for statement in self.statements:
            found.update(names_in(statement.text))
            if isinstance(statement, Assign) and statement.target in self.signals:
                found[statement.target] -= 1
        return found

    def rename(self, names: Mapping[str, str]) -> None:
        """Give signals new names, which are free."""
        for statement in self.statements:
            if isinstance(statement, Assign):
                statement.target = renamed(statement.target, names)
                statement.value = renamed(statement.value, names)
            else:
                statement.text = renamed(statement.text, names)
        self.signals = {names.get(name, name): signal for name, signal in self.signals.items()}
        for name, signal in self.signals.items():
            signal.name = name


def drop_unused_resets(modules: Mapping[str, VerilogModule], *, keep: str) -> None:
    """Remove the port `rst` of modules (but `keep`) that reset nothing, as memories are."""
    while True:
        unused = {
            name
            for name, module in modules.items()
            if name != keep and "rst" in module.ports and not module.uses()["rst"]
        }
        if not unused:
            return
        for name in unused:
            modules[name].ports.remove("rst")
            del modules[name].signals["rst"]
        for module in modules.values():
            for statement in module.statements:
                if isinstance(statement, Block) and (found := statement.instance):
                    if found["module"] in unused:
                        statement.text = _without_reset(statement.text)
            _drop_dead(module)


def _without_reset(text: str) -> str:
    """An instance without its connection `rst`."""
    text = re.sub(r"^    \.rst\(.*\),?\n", "", text, flags=re.MULTILINE)
    return re.sub(r",(?=\n  \);)", "", text)


def _drop_dead(module: VerilogModule) -> None:
    """Remove nameless wires that nothing reads."""
    uses = module.uses()
    for statement in [*module.statements]:
        if isinstance(statement, Assign) and NAMELESS.fullmatch(statement.target):
            if not uses[statement.target]:
                module.statements.remove(statement)
                del module.signals[statement.target]
                return _drop_dead(module)


def names_in(text: str) -> Iterator[str]:
    """The names of signals (and of instances and modules) in a statement."""
    for found in _TOKEN.finditer(text):
        name = found["escaped"] or found["plain"]
        if name and name not in _KEYWORDS:
            yield name


def renamed(text: str, names: Mapping[str, str] | Callable[[str], str]) -> str:
    """A statement with other names."""

    def new(found: re.Match[str]) -> str:
        name = found["escaped"] or found["plain"]
        # A signal may be called as a keyword is, but only where it has an escape.
        if not name or found["plain"] in _KEYWORDS:
            return found[0]
        return names(name) if callable(names) else names.get(name, found[0])

    return _TOKEN.sub(new, text)


def parse_module(text: str) -> VerilogModule:
    """The module that Yosys wrote, with plain names."""
    names = _plain_names(text)
    text = renamed(text, names)
    header = _HEADER.match(text)
    if header is None:
        raise ValueError(f"no module starts with {text[:60]!r}")
    module = VerilogModule(header["name"], re.findall(r"\w+", header["ports"]), names)
    attributes: tuple[str, ...] = ()
    lines = text[header.end() :].splitlines()
    while lines:
        line = lines.pop(0)
        if line == "endmodule":
            break
        if line.startswith("  (*"):
            attributes += (line.strip(),)
            continue
        if found := _DECLARATION.match(line):
            _declare(module, found, attributes)
        elif found := _ASSIGN.match(line):
            attributes += tuple(part.strip() for part in _ATTRIBUTE.findall(found["value"]))
            value = _ATTRIBUTE.sub("", found["value"])
            module.statements.append(Assign(found["target"], value, attributes))
        elif line.startswith("  always ") or _INSTANCE.match(line):
            while lines and (lines[0].startswith("    ") or lines[0] in ("  end", "  );")):
                line += f"\n{lines.pop(0)}"
            module.statements.append(Block(line, attributes))
        else:
            raise ValueError(f"{module.name} has a statement of an unknown form: {line.strip()!r}")
        attributes = ()
    return module


def _declare(module: VerilogModule, found: re.Match[str], attributes: tuple[str, ...]) -> None:
    width = int(found["high"] or 0) + 1
    signal = module.signals.setdefault(found["name"], Signal(found["name"], width))
    signal.attributes += attributes
    if found["kind"] in ("input", "output"):
        signal.direction = found["kind"]
    else:
        signal.is_register = found["kind"] == "reg"
    if found["last"]:
        signal.words = int(found["last"]) + 1


def _plain_names(text: str) -> dict[str, str]:
    """New names for those that need an escape, or have Amaranth's doubled underscores."""
    escaped = {
        found["escaped"]: None for found in _TOKEN.finditer(text) if found["escaped"] is not None
    }
    taken = {found["plain"] for found in _TOKEN.finditer(text) if found["plain"]}
    names: dict[str, str] = {}
    for name in escaped:
        names[name] = free_name(_candidates(name, text), taken)
    for name in sorted(taken):
        plain = name.replace("__", "_")
        if "__" in name and plain not in taken:
            names[name] = plain
            taken.add(plain)
    return names


def _candidates(name: str, text: str) -> list[str]:
    """What an escaped name may become, best first."""
    stem = re.sub(r"\$\d+\Z", "", name)
    plain = re.sub(r"\W+", "_", stem).replace("__", "_").strip("_")
    found = re.search(
        rf"^  \w+ (\S+) \(\n(?:    .*\n)*?    \.(\w+)\(\\{re.escape(name)} \)", text, re.MULTILINE
    )
    return [*([f"{found[1]}_{found[2]}"] if found and "$" in name else []), plain]


def free_name(candidates: list[str], taken: set[str]) -> str:
    """The first candidate that is free, or the last with the least number; takes it."""
    for name in candidates:
        if name not in taken and name not in RESERVED:
            taken.add(name)
            return name
    number = 2
    while f"{candidates[-1]}_{number}" in taken:
        number += 1
    return free_name([f"{candidates[-1]}_{number}"], taken)
