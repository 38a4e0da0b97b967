"""Names for the wires that have none: after what they are, or else after what they feed.

A wire that inverts `pop` is `not_pop`, one that is high while `level` is 31 is `level_is_31`; the
next value of a register `level` is `level_next`, the condition under which it changes
`level_enable`; what a port `second` of an instance `alu` gets is `alu_second`; and a sum on the way
to `place` is `place_sum`. A name that is taken gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tandem.hw.rtl.verilog_module import (
    NAMELESS,
    Assign,
    Block,
    VerilogModule,
    free_name,
    names_in,
    renamed,
)
from tandem.hw.rtl.verilog_nesting import split

LONGEST = 32
"""The longest name that says what a wire is; others say what it feeds."""

_OPERATIONS = {
    **{"+": "sum", "-": "difference", "*": "product", "?": "choice", "&": "both", "|": "either"},
    **{"^": "parity", "==": "equal", "!=": "different", "<": "below", "<=": "up_to", ">": "above"},
    **{">=": "reached", "<<": "shifted", ">>": "shifted", "<<<": "shifted", ">>>": "shifted"},
}
_BETWEEN = {
    **{"+": "plus", "-": "minus", "*": "times", "&": "and", "|": "or", "<": "below"},
    **{"==": "is", "!=": "is_not", "<=": "up_to", ">": "above", ">=": "from"},
}
_UNARY = {
    "~": "not_{}",
    "!": "{}_is_0",
    "|": "{}_any",
    "&": "{}_all",
    "^": "{}_parity",
    "-": "minus_{}",
}
_OPERAND = re.compile(r"([A-Za-z]\w*)(?:\[(\d+)(?::(\d+))?\])?\Z")
_CONSTANT = re.compile(r"(\d+)'(s?)([hbd])([0-9a-f]+)\Z")
_NAMELESS_PART = re.compile(r"\b(_\d+_)(?!\w)(\[[\d:]+\])?")
_ASSIGNED = re.compile(r"\b(\w+)(?:\[[^\]]*\])* <= [^;]*;")
_CONDITION = r"if \(!?{}\)"
_BASES = {"h": 16, "b": 2, "d": 10}


def give_names(module: VerilogModule) -> None:
    """Name every signal of `module` that has no name."""
    _take_over_outputs(module)
    _trim(module)
    nameless = [name for name in module.signals if NAMELESS.fullmatch(name)]
    # Registers come first: what their names are does not depend on the wires between them.
    nameless.sort(key=lambda name: not module.signals[name].is_register)
    taken = {name for name in module.signals if name not in nameless}
    taken |= {
        name
        for statement in module.statements
        for name in names_in(statement.text)
        if not NAMELESS.fullmatch(name)
    }
    naming = _Naming(module)
    names = {name: naming.name(name, taken) for name in naming.ordered(nameless)}
    module.rename(names)


def _take_over_outputs(module: VerilogModule) -> None:
    """A nameless register that only drives all of a signal becomes that signal."""
    uses = module.uses()
    for statement in [*module.statements]:
        if not isinstance(statement, Assign):
            continue
        source, target = statement.value, statement.target
        if not NAMELESS.fullmatch(source) or target not in module.signals:
            continue
        register, signal = module.signals[source], module.signals[target]
        if not register.is_register or uses[source] != 2 or register.width != signal.width:
            continue
        module.statements.remove(statement)
        del module.signals[source]
        signal.is_register = True
        for other in module.statements:
            if isinstance(other, Block):
                other.text = renamed(other.text, {source: target})


def _trim(module: VerilogModule) -> None:
    """Declare only the bits of a nameless wire that exist, where it is one slice everywhere.

    Parts of a wire that nothing reads need not be driven.
    """
    read = {
        name
        for statement in module.statements
        for name in names_in(statement.value if isinstance(statement, Assign) else statement.text)
    }
    module.statements = [
        statement
        for statement in module.statements
        if not isinstance(statement, Assign)
        or not (found := re.match(r"(_\d+_)\[", statement.target))
        or found[1] in read
    ]
    slices: dict[str, set[str]] = {}
    for statement in module.statements:
        for name, part in _NAMELESS_PART.findall(statement.text):
            slices.setdefault(name, set()).add(part)
    single = {name: parts.pop() for name, parts in slices.items() if len(parts) == 1}
    single = {name: part for name, part in single.items() if part}
    for name, part in single.items():
        high, _, low = part[1:-1].partition(":")
        module.signals[name].width = int(high) - int(low or high) + 1

    def without_part(text: str) -> str:
        return _NAMELESS_PART.sub(lambda found: found[1] if found[1] in single else found[0], text)

    for statement in module.statements:
        if isinstance(statement, Assign):
            statement.target = without_part(statement.target)
            statement.value = without_part(statement.value)
        else:
            statement.text = without_part(statement.text)


class _Naming:
    """Names in the order in which they can be given: after what is named already."""

    def __init__(self, module: VerilogModule) -> None:
        self._sources: dict[str, str] = {}
        self._users: dict[str, Assign | Block] = {}
        self._roots: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for statement in module.statements:
            targets: set[str] = set()
            if isinstance(statement, Assign):
                targets.update(names_in(statement.target))
                if statement.target in module.signals:
                    self._sources[statement.target] = statement.value
                if statement.target.startswith("{"):
                    self._note_rests(targets, statement)
            else:
                targets.update(_ASSIGNED.findall(statement.text))
            for name in names_in(statement.text):
                if NAMELESS.fullmatch(name) and name not in targets:
                    known = self._users.setdefault(name, statement)
                    if isinstance(known, Assign) and isinstance(statement, Block):
                        self._users[name] = statement

    def _note_rests(self, targets: set[str], statement: Assign) -> None:
        """What is left beside a signal of an assignment to several."""
        named = [each for each in names_in(statement.target) if not NAMELESS.fullmatch(each)]
        for name in targets:
            if named and NAMELESS.fullmatch(name):
                self._roots.setdefault(name, f"{named[0]}_rest")

    def ordered(self, nameless: list[str]) -> Iterator[str]:
        """The names, users before what they use."""
        done: set[str] = set()

        def visit(name: str) -> Iterator[str]:
            if name in done:
                return
            done.add(name)
            user = self._users.get(name)
            if isinstance(user, Assign):
                targets = [*names_in(user.target)]
            else:
                targets = _ASSIGNED.findall(user.text) if user else []
            for target in targets:
                if NAMELESS.fullmatch(target):
                    yield from visit(target)
            yield name

        for name in nameless:
            yield from visit(name)

    def name(self, name: str, taken: set[str]) -> str:
        """A free name."""
        root, suffix = self._place(name)
        self._roots[name] = root
        candidates = [f"{root}_{suffix}" if suffix else root]
        if isinstance(self._users.get(name), Assign) or suffix in _OPERATIONS.values():
            if described := self._described(name):
                candidates = [described]
        self._names[name] = free_name(candidates, taken)
        return self._names[name]

    def _place(self, name: str) -> tuple[str, str]:
        """What a wire feeds, and how."""
        if name in self._roots:
            return self._roots[name], ""
        user = self._users.get(name)
        words = split(self._sources.get(name, ""))
        operation = next((_OPERATIONS[word] for word in words if word in _OPERATIONS), "value")
        if isinstance(user, Block):
            return self._place_in_block(name, user, operation)
        if user is None:
            return "unused", operation
        targets = [*names_in(user.target)]
        root = next((self._roots.get(each, each) for each in targets), "value")
        if user.value == name and user.target != targets[0]:
            return root, "register" if name not in self._sources else "parts"
        place = split(user.value)
        if place[1:2] == ["?"] and place[0] in (name, f"~{name}"):
            return root, "select"
        return root, operation

    def _place_in_block(self, name: str, user: Block, operation: str) -> tuple[str, str]:
        if found := user.instance:
            port = next((port for port, value in user.connections if name in names_in(value)), "")
            return found["name"], port
        assigned = _ASSIGNED.search(user.text)
        register = assigned[1] if assigned else "value"
        if NAMELESS.fullmatch(register):
            register = self._roots.get(register, "register")
        if condition := re.search(_CONDITION.format(name) + r"(.*(?:\n.*)?)", user.text):
            cleared = re.search(r"\A\s*\w+ <= \d+'\w+;\s*else", condition[1])
            return register, "clear" if cleared else "enable"
        if re.search(rf"<= {name}(?:\[[\d:]+\])?;", user.text):
            return register, "next"
        return register, operation

    def _described(self, name: str) -> str | None:
        """What a wire is, if that is short: the inverse of a signal, or a value that it has."""
        words = split(self._sources.get(name, ""))
        if len(words) == 1 and words[0].startswith("~"):
            words = ["~", words[0][1:]]
        if len(words) == 2 and words[0] in _UNARY:
            operand = self._operand(words[1])
            return _UNARY[words[0]].format(operand) if operand else None
        if len(words) == 3 and words[1] in ("==", "!="):
            operand, number = self._operand(words[0]), _number(words[2])
            if operand and number:
                return f"{operand}_{'is' if words[1] == '==' else 'is_not'}_{number}"
        if len(words) == 3 and words[1] in _BETWEEN:
            return self._between(words)
        return None

    def _between(self, words: list[str]) -> str | None:
        """Two short operands and the operator between them, in words."""
        first, second = (self._operand(word) or _number(word) for word in words[::2])
        if not first or not second or first.isdecimal():
            return None
        text = f"{first}_{_BETWEEN[words[1]]}_{second}"
        return text if len(text) <= LONGEST else None

    def _operand(self, word: str) -> str | None:
        found = _OPERAND.match(word)
        if not found:
            return self._names.get(word)
        bits = f"_{found[2]}" if found[2] else ""
        return found[1] + bits + (f"_{found[3]}" if found[3] else "")


def _number(word: str) -> str | None:
    """A constant in decimal."""
    found = _CONSTANT.match(word)
    return str(int(found[4], _BASES[found[3]])) if found else None
