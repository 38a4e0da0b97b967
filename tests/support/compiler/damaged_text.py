"""Texts of programs and graphs with small damages, determined by a generator of random numbers."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def damaged_text(rng: Random, whole: str) -> str:
    """The text with one token or line changed: a number, a name, a sign, a place.

    Half of all damages change a number or a name for another one of the text, so that most of them
    are found only where the program's meaning is verified.
    """
    if rng.random() < 0.15:
        return _with_damaged_line(rng, whole)
    tokens = _TOKEN.findall(whole)
    words = [at for at, token in enumerate(tokens) if not token.isspace()]
    numbers = [at for at in words if tokens[at].isdecimal()]
    names = [at for at in words if tokens[at].isidentifier()]
    match rng.randint(0, 9):
        case 0 | 1 | 2 if numbers:
            at = rng.choice(numbers)
            value = int(tokens[at])
            changed = (value + 1, value - 1, value * 2, 0, 1, 2**31, 2**63, value * 10**18)
            tokens[at] = str(rng.choice(changed))
        case 3 | 4 | 5:
            tokens[rng.choice(names)] = tokens[rng.choice(names)]
        case 6:
            tokens[rng.choice(words)] = ""
        case 7:
            tokens[rng.choice(words)] = tokens[rng.choice(words)]
        case 8:
            first, second = rng.choice(words), rng.choice(words)
            tokens[first], tokens[second] = tokens[second], tokens[first]
        case _:
            at = rng.choice(words)
            tokens[at] += rng.choice((tokens[at], " ", "'", "(", "]", "$", "é", ".5", "e9", "\n"))
    return "".join(tokens)


def _with_damaged_line(rng: Random, whole: str) -> str:
    lines = whole.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    match rng.randint(0, 4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines[at] = rng.choice((" ", "  ", "\t")) + lines[at]
        case 3:
            lines[at] = lines[at].removeprefix("  ")
        case _:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return "".join(lines)
