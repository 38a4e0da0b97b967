"""Texts of many cases, kept in a golden file as a short digest of each.

A net of many cases finds a change anywhere behind them, and its golden file stays small enough to
review. Where a case differs, the message has the case's text as it is now; the option
`--recorded-texts FOLDER` of pytest writes the texts of all cases, so that those of two trees can be
compared with `diff -r`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

_DIGITS = 6
"""Hexadecimal digits of a case's digest: an unlucky change stays unseen in one of 16 million."""
_IN_A_LINE = 12
_LONGEST = 100
"""Characters of a summary."""
_SHOWN = 3
"""Cases whose text a message has."""
_LENGTH = 6000
"""Characters of a text in a message."""


def listing(texts: Mapping[str, str] | Sequence[str]) -> str:
    """The golden file's text.

    Parameters
    ----------
    texts
        The text of each case by its name: a line with the name, the digest and the beginning of the
        text. Of a sequence the cases are numbered, and twelve digests are in a line.
    """
    if isinstance(texts, Mapping):
        lines = [f"{name}: {_digest(text)} {_summary(text)}" for name, text in texts.items()]
    else:
        digests = [_digest(text) for text in texts]
        lines = [
            f"{start}: {' '.join(digests[start : start + _IN_A_LINE])}"
            for start in range(0, len(digests), _IN_A_LINE)
        ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def differing(texts: Mapping[str, str] | Sequence[str], golden: str) -> list[str]:
    """What differs from a golden file's text, a message for each case."""
    now, before = _digests(listing(texts)), _digests(golden)
    by_name = dict(_named(texts))
    changed = [name for name in now if now[name] != before.get(name)]
    said = [
        f"case {name}: {before.get(name, 'not recorded')} before, now\n{by_name[name][:_LENGTH]}"
        for name in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        said.append(f"and {len(changed) - _SHOWN} more: {' '.join(changed[_SHOWN:])}")
    said += [f"case {name} is gone" for name in before if name not in now]
    return said


def write_texts(texts: Mapping[str, str] | Sequence[str], folder: Path) -> None:
    """Write the text of each case to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _named(texts):
        (folder / f"{name.replace('/', '-')}.txt").write_text(text + "\n")


def _named(texts: Mapping[str, str] | Sequence[str]) -> Iterator[tuple[str, str]]:
    """The text of each case with its name, or its number."""
    if isinstance(texts, Mapping):
        yield from texts.items()
    else:
        yield from ((str(number), text) for number, text in enumerate(texts))


def _digests(text: str) -> dict[str, str]:
    """The digest, with the summary, of each case of a golden file."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(": ")
        if name.isdecimal():
            found |= {str(int(name) + at): each for at, each in enumerate(rest.split())}
        else:
            found[name] = rest
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def _summary(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."
