"""What all compiled streams have in common with VTA's: their end, and no page 0; and on machines
without features that they use no extension."""

from __future__ import annotations

from tandem.hw.isa import Finish, Program, Store
from tandem.hw.vta_rules import VtaRule, vta_warnings

_OBSERVED = frozenset({VtaRule.END, VtaRule.PAGE_0})


def check_for_vta(program: Program) -> None:
    """Assert that FINISH, without tokens, follows all others, that page 0 is not used, and that
    a machine without features is asked for no extension."""
    *instructions, last = program
    assert last == Finish()
    stores = [each for each in instructions if isinstance(each, Store)]
    assert not stores or stores[-1].tokens.push_prev
    observed = _OBSERVED if program.config.features else _OBSERVED | {VtaRule.EXTENSION}
    assert not [str(each) for each in vta_warnings(program) if each.rule in observed]
