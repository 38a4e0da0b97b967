"""Batches of machines: a function of the seed and of what was measured."""

from __future__ import annotations

import json

import pytest

from tandem.compiler.errors import SpaceError
from tandem.compiler.machines.accelerator.timed_streams import TIME_FIELDS, code_of
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.front import hypervolume
from tandem.compiler.search.proposals import (
    BATCH,
    FIRST_MACHINES,
    MACHINES,
    Finished,
    Proposal,
    Proposer,
)
from tandem.compiler.search.space import Space, load_space, parse_space
from tandem.hw.config import HardwareConfig


def values(space: Space, proposal: Proposal) -> tuple[float, float] | None:
    """Two objectives that are at odds; a machine with the smallest INP cannot run."""
    machine = space.machine(proposal.indices)
    if machine.log_inp_buffer == 9:
        return None
    memories = (machine.log_inp_buffer, machine.log_wgt_buffer, machine.log_acc_buffer)
    loads = sum(2.0**-size for size in memories) * 1e7 / machine.bus_bits
    time = 1e6 / machine.macs + loads + 1e4 / machine.load_buffer
    return time, float(
        20 * machine.macs + sum(1 << size for size in memories) + machine.load_buffer
    )


def searched(proposer: Proposer, batches: int) -> list[tuple[Proposal, ...]]:
    found: list[tuple[Proposal, ...]] = []
    history: list[Finished] = []
    for number in range(batches):
        found.append(proposer.batch(number, history))
        history += (Finished(each, values(proposer.space, each)) for each in found[-1])
    return found


def proposer(explorer: Explorer, seed: int = 0) -> Proposer:
    return Proposer(load_space("small"), explorer, seed, 2, lambda machine: True, TIME_FIELDS)


@pytest.mark.parametrize("explorer", Explorer)
def test_batches_are_the_same_again_and_other_with_another_seed(explorer: Explorer) -> None:
    found = searched(proposer(explorer), 3)
    assert searched(proposer(explorer), 3) == found
    assert searched(proposer(explorer, seed=1), 1)[0] != found[0]


def test_the_first_batch_is_the_same_of_every_explorer() -> None:
    first = {explorer: searched(proposer(explorer), 1) for explorer in Explorer}
    assert first[Explorer.NSGA2] == first[Explorer.TPE] == first[Explorer.RANDOM]


@pytest.mark.parametrize("explorer", Explorer)
def test_machines_are_possible_and_new_and_share_programs(explorer: Explorer) -> None:
    space = load_space("small")
    batches = searched(proposer(explorer), 3)
    found = [each.indices for batch in batches for each in batch]
    assert len(set(found)) == len(found) == 3 * BATCH
    programs = [{code_of(space.machine(each.indices)) for each in batch} for batch in batches]
    # None of a later batch is known from an earlier one.
    assert len(set[HardwareConfig]().union(*programs)) == sum(map(len, programs))
    machines = (FIRST_MACHINES, MACHINES, MACHINES)
    assert [len(batch) for batch in programs] == [BATCH / each for each in machines]


def test_a_generation_follows_another() -> None:
    batches = searched(proposer(Explorer.NSGA2), 3)
    assert [{each.generation for each in batch} for batch in batches] == [{0}, {1}, {2}]


def test_nsga2_dominates_more_than_random_search() -> None:
    """With each seed, though both begin with the same machines."""
    space = load_space("small")

    def volume(explorer: Explorer, seed: int) -> float:
        batches = searched(proposer(explorer, seed), 5)
        found = [values(space, each) for batch in batches for each in batch]
        return hypervolume([pair for pair in found if pair is not None], (75_000.0, 60_000.0))

    for seed in range(3):
        assert volume(Explorer.NSGA2, seed) > volume(Explorer.RANDOM, seed)


def test_limits_are_kept() -> None:
    def small(machine: HardwareConfig) -> bool:
        return machine.macs < 100

    own = Proposer(load_space("small"), Explorer.RANDOM, 0, 2, small, TIME_FIELDS)
    assert all(small(own.space.machine(each.indices)) for each in own.batch(0, []))


def test_a_space_that_ends() -> None:
    fields = {"log_wgt_buffer": [12, 13], "longest_burst": [8, 16]}
    space = parse_space(json.dumps({"base": "small8", "fields": fields}), "mine")
    own = Proposer(space, Explorer.NSGA2, 0, 1, lambda machine: True, TIME_FIELDS)
    batch = own.batch(0, [])
    assert len(batch) == 4
    assert own.batch(1, [Finished(each, (1.0,)) for each in batch]) == ()
    # Machines of known programs are proposed when there are no others.
    few = [each for each in batch if space.machine(each.indices).longest_burst == 8]
    rest = own.batch(1, [Finished(each, (1.0,)) for each in few])
    assert {each.indices for each in (*few, *rest)} == {each.indices for each in batch}
    assert len(rest) == 2
    none = Proposer(space, Explorer.NSGA2, 0, 1, lambda machine: False, TIME_FIELDS)
    with pytest.raises(SpaceError, match="none is possible and within the limits"):
        none.batch(0, [])


def test_machines_of_one_program_are_each_proposed_once() -> None:
    """Those that are added to a proposal are not proposed again in the same batch."""
    fields = {"longest_burst": [8, 16, 32], "reads_in_flight": [4, 8, 16, 32]}
    fields |= {"writes_in_flight": [4, 8, 16], "fetch_buffer": [8, 16, 32, 64]}
    space = parse_space(json.dumps({"base": "small8", "fields": fields}), "mine")
    for seed in range(3):
        own = Proposer(space, Explorer.RANDOM, seed, 1, lambda machine: True, TIME_FIELDS)
        batch = [each.indices for each in own.batch(1, [])]
        assert len(set(batch)) == len(batch)
