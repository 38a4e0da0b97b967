"""The result of one check of an installation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of an installation.

    Attributes
    ----------
    name
        What was looked for, as `C++ compiler`.
    ok
        Whether it is there and can be used.
    required
        Whether something that is installed by default does not work without it; an extra is not.
    detail
        What was found, or what is missing.
    remedy
        What to do; empty if nothing is to be done.
    """

    name: str
    ok: bool
    required: bool
    detail: str
    remedy: str = ""
