"""Formats by layer: the order of changes, and the most of them within a loss."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.quantise.compressed.choice import Move, Option, most_within, moves

OPTIONS = st.lists(
    st.builds(Option, st.text(max_size=2), st.integers(1, 7), st.floats(0, 10)), max_size=4
).map(lambda found: [Option("int8", 8, 0.0), *found])


def test_the_cheapest_error_of_a_bit_comes_first() -> None:
    int8 = Option("int8", 80, 0.0)
    found = moves(
        {
            "small": [int8, Option("int4", 40, 4.0)],
            "large": [Option("int8", 800, 0.0), Option("int4", 400, 4.0), Option("t", 200, 14.0)],
        }
    )
    assert [(move.layer, move.option.name) for move in found] == [
        ("large", "int4"),
        ("large", "t"),
        ("small", "int4"),
    ]


def test_what_costs_more_for_a_bit_than_a_later_one_is_left_out() -> None:
    """Four bits cost 9, two bits 10: nobody stops half way."""
    options = [Option("int8", 80, 0.0), Option("int4", 40, 9.0), Option("ternary", 20, 10.0)]
    assert [move.option.name for move in moves({"layer": options})] == ["ternary"]


@given(st.dictionaries(st.text(max_size=3), OPTIONS, max_size=4))
def test_a_layers_changes_are_in_the_order_of_their_bits(
    options: dict[str, list[Option]],
) -> None:
    at = {layer: first.cost for layer, (first, *_) in options.items()}
    for move in moves(options):
        assert move.option.cost < at[move.layer]
        at[move.layer] = move.option.cost
    # Each layer ends with the fewest bits, where there are no fewer than int8's.
    for layer, given_ in options.items():
        assert at[layer] == min(option.cost for option in given_)


@given(st.lists(st.floats(0, 5), max_size=9), st.floats(0, 20))
def test_the_most_changes_whose_loss_is_allowed(errors: list[float], allowed: float) -> None:
    ordered = [Move(str(number), Option("int4", 1, error)) for number, error in enumerate(errors)]

    def made(chosen: Mapping[str, Option]) -> float:
        return sum(option.error for option in chosen.values())

    found = most_within(ordered, allowed, made, lambda network: network)
    counts = [count for count in range(len(errors) + 1) if sum(errors[:count]) <= allowed]
    assert found.loss == sum(errors[: len(found.options)])
    assert found.loss <= allowed
    # Changes that cost nothing may be left out or taken.
    assert found.loss == sum(errors[: counts[-1]])


def test_a_network_without_changes_loses_nothing() -> None:
    found = most_within([], 0.0, dict, lambda _: 100.0)
    assert (found.loss, found.options) == (0.0, {})
