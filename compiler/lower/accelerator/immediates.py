"""The numbers that instructions carry and that come with each operator."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.errors import LoweringError
from compiler.intrinsics.accelerator import check_immediate
from compiler.intrinsics.scopes import OnChip
from compiler.lower.accelerator.commands import Command, Compute
from compiler.lower.accelerator.places import Operator
from hw.config import HardwareConfig

__all__ = ["immediates_of"]


def immediates_of(
    operator: Operator, commands: Iterable[Command], config: HardwareConfig
) -> dict[str, int]:
    """The operator's numbers, by the names of its program's inputs in IMM.

    Parameters
    ----------
    commands
        The program's: which operation carries which number.

    Raises
    ------
    LoweringError
        For a number that is missing, that no input is called like, or that an instruction has no
        room for.
    """
    wanted = {each.name for each in operator.program.inputs if each.scope == OnChip.IMM}
    given = dict(operator.immediates)
    if missing := wanted - given.keys():
        raise LoweringError(f"{operator.title} is given no immediate {', '.join(sorted(missing))}")
    if extra := given.keys() - wanted:
        known = ", ".join(sorted(wanted)) or "none"
        raise LoweringError(
            f"{operator.title} has no immediate {', '.join(sorted(extra))}; it has {known}"
        )
    uses = {(each.op, each.imm) for each in commands if isinstance(each, Compute)}
    for op, name in uses:
        if op is not None and isinstance(name, str):
            try:
                check_immediate(config, op, given[name])
            except LoweringError as error:
                raise LoweringError(f"{operator.title}: {name}: {error}") from None
    return given
