"""Writes single-use operators of Yosys's Verilog inside the expressions that use them.

Verilog computes an operand at the greatest width around it, and the sign of one operand counts for
others. So an expression takes another's place only where neither can matter: where all operands
have the width of the result, and none is signed, or where the place has a width of its own (a
condition, a part of a concatenation). Everything else keeps a wire with a name.
"""

from __future__ import annotations

import re

from tandem.hw.rtl.verilog_module import NAMELESS, Assign, Block, VerilogModule

LONGEST = 90
"""The longest expression that another is written into."""

_BITWISE = frozenset("&|^")
_COMPARE = frozenset(("==", "!=", "<", "<=", ">", ">="))
_REDUCE = frozenset("&|^!")
_NAME = re.compile(r"(\w+)(?:\[(\d+)(?::(\d+))?\])?\Z")
_CONSTANT = re.compile(r"(\d+)'h?[bdho]?[0-9a-fx]+\Z")
_CONDITION = re.compile(r"\bif \((!?)(_\d+_)\)")


def nest(module: VerilogModule) -> None:
    """Write wires without a name, of one use each, where they are used, if that is safe."""
    _Nesting(module).run()


class _Nesting:
    def __init__(self, module: VerilogModule) -> None:
        self._module = module
        self._widths = {signal.name: signal.width for signal in module.signals.values()}
        # The width of each expression that was nested, by its text in parentheses.
        self._nested: dict[str, int] = {}

    def run(self) -> None:
        module = self._module
        for statement in module.statements:
            if isinstance(statement, Assign):
                statement.value = self._without_reduction(statement.value)
        uses = module.uses()
        single = {
            statement.target: statement
            for statement in module.statements
            if isinstance(statement, Assign)
            and NAMELESS.fullmatch(statement.target)
            and uses[statement.target] == 1
        }
        users = {
            name: statement
            for statement in module.statements
            for name in set(NAMELESS.findall(statement.text))
            if name in single and statement is not single[name]
        }
        done: set[str] = set()

        def settle(name: str) -> None:
            """Nest into this wire's expression first, then the expression itself."""
            if name in done:
                return
            done.add(name)
            statement = single[name]
            for inner in NAMELESS.findall(statement.value):
                if inner in single:
                    settle(inner)
            if self._place(name, statement.value, users.get(name)):
                users[name].attributes += statement.attributes
                module.statements.remove(statement)
                del module.signals[name]

        for name in single:
            settle(name)

    def _without_reduction(self, value: str) -> str:
        """`a | b` for the reduction of two or more bits side by side."""
        words = split(value)
        if len(words) != 2 or words[0] not in _BITWISE or not words[1].startswith("{"):
            return value
        parts = _parts(words[1])
        if any(self._width(part) != 1 for part in parts):
            return value
        return f" {words[0]} ".join(parts)

    def _place(self, name: str, value: str, user: Assign | Block | None) -> bool:
        """Write `value` in the place of `name`, if that is safe; whether it was."""
        if user is None or not self._is_closed(value, self._widths[name]):
            return False
        if isinstance(user, Block):
            return self._place_in_block(name, value, user)
        words = split(user.value)
        new = [*words]
        for position, word in enumerate(words):
            if word == name:
                if not self._fits(words, position, user.target):
                    return False
                new[position] = self._operand(value, words, position)
            elif word.startswith("{") and name in word:
                if self._widths[name] != 1 or words[0] in _COMPARE:
                    return False
                new[position] = _put(word, name, self._wrapped(value))
                if new[position] == word:
                    return False
        text = " ".join(new)
        if text == user.value or len(text) > LONGEST:
            return False
        user.value = text
        return True

    def _place_in_block(self, name: str, value: str, user: Block) -> bool:
        width = self._widths[name]
        if len(value) > LONGEST or user.instance:
            return False
        for found in _CONDITION.finditer(user.text):
            if found[2] == name and width == 1:
                inner = self._wrapped(value) if found[1] else value
                user.text = user.text.replace(f"({found[1]}{name})", f"({found[1]}{inner})")
                return True
        target = re.search(rf"\b(\w+) <= {name};", user.text)
        if target and self._widths.get(target[1]) == width and "[" not in target[1]:
            user.text = user.text.replace(f" <= {name};", f" <= {value};")
            return True
        return False

    def _operand(self, value: str, words: list[str], position: int) -> str:
        """`value` as an operand, without parentheses in a chain of one operator or of choices."""
        operator = split(value)[1:2]
        if len(words) > 2 and operator == words[1:2] and operator[0] in _BITWISE:
            return value
        if operator == ["?"] and words[1:2] == ["?"] and position == len(words) - 1:
            return value
        return self._wrapped(value)

    def _wrapped(self, value: str) -> str:
        words = split(value)
        if len(words) == 1:
            return value
        text = f"~{words[1]}" if words[0] == "~" else f"({value})"
        self._nested[text] = self._width_of(value) or 0
        return text

    def _fits(self, words: list[str], position: int, target: str) -> bool:
        """Whether an operand may be an expression: all widths are that of the result."""
        width = self._width(target)
        if len(words) > 2 and words[1] == "?":
            if position % 4 == 0 and position < len(words) - 1:
                return True
            return width is not None and self._width_of(" ".join(words)) == width
        if len(words) == 2 and words[0] in _REDUCE:
            return True
        if len(words) == 1 or words[0] == "~" or words[1] in _BITWISE:
            return width is not None and self._width_of(" ".join(words)) == width
        return False

    def _is_closed(self, value: str, width: int) -> bool:
        """Whether an expression has this width by itself."""
        return self._width_of(value) == width

    def _width_of(self, value: str) -> int | None:
        """The width that an expression has by itself, if all its operands have it; or None."""
        words = split(value)
        if len(words) == 1:
            return self._width(words[0])
        if len(words) == 2:
            if words[0] in _REDUCE:
                return 1 if self._width(words[1]) else None
            return self._width(words[1]) if words[0] == "~" else None
        if words[1] in _COMPARE:
            return 1 if len(words) == 3 and all(map(self._width, words[::2])) else None
        if words[1] == "?":
            return self._choice(words)
        if words[1] in _BITWISE and set(words[1::2]) == {words[1]}:
            return self._same(words[::2])
        return None

    def _choice(self, words: list[str]) -> int | None:
        """The width of a choice, or of a chain of them."""
        branches = words[2::2]
        if set(words[1::4]) != {"?"} or set(words[3::4]) != {":"} or len(words) % 4 != 1:
            return None
        if any(self._width(word) != 1 for word in words[:-1:4]):
            return None
        return self._same([*words[2:-1:4], words[-1]]) if branches else None

    def _same(self, words: list[str]) -> int | None:
        widths = {self._width(word) for word in words}
        return widths.pop() if len(widths) == 1 else None

    def _width(self, word: str) -> int | None:
        """The width of an operand without a sign; None if unknown."""
        if word.startswith("("):
            return self._nested.get(word) or None
        if word.startswith("~"):
            return self._width(word[1:])
        if word.startswith("{"):
            parts = [self._width(part) for part in _parts(word)]
            return None if None in parts else sum(part for part in parts if part)
        if found := _CONSTANT.match(word):
            return int(found[1])
        if found := _NAME.match(word):
            if found[2]:
                return int(found[2]) - int(found[3] or found[2]) + 1
            return self._widths.get(found[1])
        return None


def split(value: str) -> list[str]:
    """The operands and operators of an expression; an operand in brackets is one word."""
    words: list[str] = []
    depth, word = 0, ""
    for letter in value:
        depth += (letter in "({") - (letter in ")}")
        if letter == " " and depth == 0:
            words.append(word)
            word = ""
        else:
            word += letter
    words.append(word)
    return [word for word in words if word]


def _parts(concatenation: str) -> list[str]:
    """The parts of a concatenation."""
    parts: list[str] = []
    depth, part = 0, ""
    for letter in concatenation[1:-1]:
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()]


def _put(concatenation: str, name: str, value: str) -> str:
    """The concatenation with a part replaced."""
    parts = [value if part == name else part for part in _parts(concatenation)]
    return f"{{ {', '.join(parts)} }}"
