"""What a search for operations found, as text."""

from __future__ import annotations

from rich.console import Console

from tandem.hw.alu_terms import print_term
from tandem.scripts.tables import percentage, plain_table, print_table, whole_number
from tandem.workbench.discovery.found import Found


def print_found(console: Console, found: Found) -> None:
    """Print the operations, the networks, and what the operations take."""
    table = plain_table(
        ["operation", "result", "parameters"], ["cycles\nit saves", "tables", "multiplier\nblocks"]
    )
    for one in found.operations:
        parameters = (f"{each.name} {each.type_text}" for each in one.operation.parameters)
        table.add_row(
            one.operation.name,
            print_term(one.operation.result),
            ", ".join(parameters),
            whole_number(one.saves),
            whole_number(one.cost.lut),
            whole_number(one.cost.dsp),
        )
    print_table(console, table)
    networks = plain_table(
        ["model"],
        [
            "ALU's share",
            f"cycles on\n{found.baseline.name}",
            "with the\noperations",
            "ratio",
            "with exten-\nsions",
            "reached",
        ],
    )
    for each in found.networks:
        networks.add_row(
            each.model + (", held out" if each.held_out else ""),
            percentage(each.alu_share),
            whole_number(each.before),
            whole_number(each.after),
            f"{each.ratio:.3f}",
            whole_number(each.extended),
            percentage(each.reached),
        )
    print_table(console, networks)
    cost = found.area.cost
    console.print(
        f"{found.candidates:,} candidates; the set takes {cost.lut:,} look-up tables "
        f"({cost.share:.1%}) and {cost.dsp} multiplier blocks by {found.area.source}, "
        f"{found.config.alu_stages} stages; in {found.seconds:.0f} s",
        soft_wrap=True,
    )
