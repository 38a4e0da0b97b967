"""A whole search for operations: candidates, sets, judgements, and networks that were held out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from time import monotonic

from tandem.base.cache import default_cache
from tandem.compiler.errors import SearchError
from tandem.compiler.machines.accelerator.discovery.candidates import (
    Candidate,
    find_candidates,
)
from tandem.compiler.machines.accelerator.discovery.candidates import (
    Found as FoundCandidates,
)
from tandem.compiler.machines.accelerator.discovery.costs import (
    SetCost,
    cost_of,
    opcodes_left,
    with_operations,
)
from tandem.compiler.machines.accelerator.discovery.passes import PassTable
from tandem.compiler.machines.accelerator.discovery.sets import (
    Positions,
    RatedSet,
    Rater,
    all_sets,
    front,
    greedy,
    shortlist,
)
from tandem.hw.alu_terms import print_term
from tandem.hw.config import NAME_LENGTH, HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.errors import HardwareError
from tandem.hw.features import Feature
from tandem.workbench.discovery.found import (
    Area,
    Found,
    FoundOperation,
    FrontSet,
    NetworkCycles,
    NetworkPasses,
)
from tandem.workbench.discovery.judged import open_judged
from tandem.workbench.discovery.judging import Judges, Say
from tandem.workbench.discovery.measure import Answer, Question, answer
from tandem.workbench.discovery.options import Options
from tandem.workbench.pools.open_pool import open_pool

SHORTLIST = 24
"""The candidates among which sets are sought exactly."""
SUFFIX = "-found"
_NUMBER = r"_[0-9]+$"
MODEL_ERROR = 1.5
"""How far estimates of gates may be beyond the budget, if Yosys counts them in the end."""
MODEL, SYNTHESIS = "model", "synthesis"


@dataclass(frozen=True)
class _Finalist:
    """A set whose networks were compiled."""

    rated: RatedSet
    chosen: tuple[Candidate, ...]
    config: HardwareConfig
    cost: SetCost

    def ratio(self, before: Sequence[Answer], after: Sequence[Answer]) -> float:
        """The mean ratio of exact cycles; infinite where a network is slower, or cannot run."""
        pairs = [(own.cycles, base.cycles) for own, base in zip(after, before, strict=True)]
        if any(not own or own > base for own, base in pairs):
            return inf
        return sum(own / base for own, base in pairs) / len(pairs)


def run(options: Options, say: Say) -> Found:
    """Find operations for networks.

    Raises
    ------
    SearchError
        The machine cannot have operations, or no set of them makes the networks faster.
    CompilerError
        A network cannot be compiled.
    """
    begun = monotonic()
    baseline = options.baseline
    _check_machine(baseline)
    with ExitStack() as closing:
        path = options.judged or default_cache() / "discover" / "judged.db"
        judged = closing.enter_context(open_judged(path))
        answers = closing.enter_context(open_pool(answer, options.jobs, None, Answer.failed))
        judges = Judges(judged, answers, say)
        questions = [Question(network, options.memory) for network in options.networks]
        before = [_base(judges, one, baseline) for one in questions]
        for network in options.held_out:
            # What cannot be compiled is told now, not when all is found.
            _base(judges, Question(network, options.memory), baseline)
        gathered = [judges.chains(one, baseline) for one in questions]
        passes = [
            NetworkPasses(one.network.model, judges.passes(one, baseline)) for one in questions
        ]
        say("candidates")
        found = find_candidates(layer for layers in gathered for layer in layers)
        table = PassTable(gathered, found.candidates, baseline.acc_read_ports)
        rater = Rater(
            tuple(each.cycles for each in before),
            table.cycles,
            cache(lambda one: cost_of(baseline, (found.candidates[one].operation,))),
        )
        few = shortlist(
            rater,
            table.distinct(),
            lambda one: re.sub(_NUMBER, "", found.candidates[one].operation.name),
            SHORTLIST,
        )
        most = opcodes_left(baseline)
        say(f"sets of {len(few)} candidates")
        sets = sorted(all_sets(rater, few, most), key=lambda one: one.order)
        grown = greedy(rater, few, most, options.budget)
        finalists = _finalists(options, found, sets, judges)
        after = _measured(judges, questions, finalists)
        chosen, area = _best(options, finalists, before, after)
        own = after[finalists.index(chosen)]
        config = chosen.config.replace(name=baseline.name[: NAME_LENGTH - len(SUFFIX)] + SUFFIX)
        networks = [
            _compared(judges, one, options, base, cycles, held_out=False)
            for one, base, cycles in zip(questions, before, own, strict=True)
        ]
        networks += _held_out(judges, options, config)
        return Found(
            baseline,
            config,
            tuple(_described(one, found, table, rater, judges) for one in chosen.chosen),
            tuple(networks),
            area,
            len(found.candidates),
            found.dropped,
            tuple(passes),
            tuple(FrontSet(one, _texts(found, one.chosen)) for one in front(sets)),
            grown.ratio,
            len(judged),
            monotonic() - begun,
        )


def _check_machine(config: HardwareConfig) -> None:
    if config.alu_operations:
        names = ", ".join(operation.name for operation in config.alu_operations)
        raise SearchError(
            f"{config.name} has operations of its own ({names}): what is found is beside those "
            f"that every machine has; take a machine without alu_operations"
        )
    if not opcodes_left(config):
        raise SearchError(f"{config.name} has no free opcode of the ALU")


def _base(judges: Judges, question: Question, config: HardwareConfig) -> Answer:
    (found,) = judges.cycles(question, [config])
    if not found.cycles:
        reason = found.reason or "the accelerator has nothing to do"
        raise SearchError(f"{question.network.model} on {config.name}: {reason}")
    return found


def _finalists(
    options: Options, found: FoundCandidates, sets: Sequence[RatedSet], judges: Judges
) -> list[_Finalist]:
    """The best sets that are within the budget and proved, no two with equal cycles."""
    budget = options.budget
    if options.synthesise:
        budget = replace(budget, share=MODEL_ERROR * budget.share)
    finalists: list[_Finalist] = []
    seen: set[tuple[int, ...]] = set()
    for rated in sets:
        if len(finalists) == options.finalists:
            break
        if not rated.chosen or rated.cycles in seen:
            continue
        if not rated.cost.within(replace(budget, share=2 * budget.share, dsp=2 * budget.dsp)):
            continue  # The sum of estimates counts shared gates twice.
        chosen = _named([found.candidates[one] for one in rated.chosen])
        cost = cost_of(options.baseline, [one.operation for one in chosen])
        if not cost.within(budget):
            continue
        if any(judges.proof(one) != "proved" for one in chosen):
            continue
        config = with_operations(options.baseline, [one.operation for one in chosen])
        if options.synthesise:
            cost = judges.synthesised(options.baseline, config)
            if not cost.within(options.budget):
                continue
        seen.add(rated.cycles)
        finalists.append(_Finalist(rated, chosen, config, cost))
    if not finalists:
        raise SearchError(
            f"no operations within {options.budget.share:.1%} of the look-up tables and "
            f"{options.budget.dsp} multiplier blocks save anything"
        )
    return finalists


def _named(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates with names that do not count those that were not chosen."""
    taken: dict[str, int] = {}
    named = []
    for one in candidates:
        base = re.sub(_NUMBER, "", one.operation.name)
        taken[base] = taken.get(base, 0) + 1
        name = base if taken[base] == 1 else f"{base}_{taken[base]}"
        operation = CustomOperation(name, one.operation.result, one.operation.parameters)
        named.append(replace(one, operation=operation))
    return tuple(named)


def _measured(
    judges: Judges, questions: Sequence[Question], finalists: Sequence[_Finalist]
) -> list[list[Answer]]:
    """By finalist, the answers to all questions."""
    configs = [one.config for one in finalists]
    by_question = [judges.cycles(question, configs) for question in questions]
    return [list(answers) for answers in zip(*by_question, strict=True)]


def _best(
    options: Options,
    finalists: Sequence[_Finalist],
    before: Sequence[Answer],
    after: Sequence[Sequence[Answer]],
) -> tuple[_Finalist, Area]:
    """The finalist with the fewest exact cycles that makes no network slower."""
    rated = [
        (one.ratio(before, answers), one.cost.lut, at)
        for at, (one, answers) in enumerate(zip(finalists, after, strict=True))
    ]
    ratio, _, at = min(rated)
    if ratio < 1:
        return finalists[at], Area(finalists[at].cost, SYNTHESIS if options.synthesise else MODEL)
    raise SearchError(
        f"{len(finalists)} sets of operations were compiled: none makes all networks faster, "
        f"or as fast"
    )


def _compared(
    judges: Judges,
    question: Question,
    options: Options,
    before: Answer,
    after: Answer,
    *,
    held_out: bool,
) -> NetworkCycles:
    extended = _extended(options.baseline)
    beside = None
    if extended is not None:
        (found,) = judges.cycles(question, [extended])
        beside = found.cycles or None
    return NetworkCycles(
        question.network.model,
        before.cycles,
        after.cycles,
        before.alu,
        after.alu,
        held_out,
        beside,
    )


def _extended(config: HardwareConfig) -> HardwareConfig | None:
    """The machine with the extension that a person made: requantisation in a pass, and residuals
    from INP. None if it has it already, or its instructions do not fit."""
    features = frozenset({Feature.REQUANTISE, Feature.INPUT_OPERANDS})
    if features <= config.features:
        return None
    try:
        return config.replace(features=config.features | features)
    except HardwareError:
        return None


def _held_out(judges: Judges, options: Options, config: HardwareConfig) -> list[NetworkCycles]:
    found = []
    for network in options.held_out:
        question = Question(network, options.memory)
        before = _base(judges, question, options.baseline)
        after = _base(judges, question, config)
        found.append(_compared(judges, question, options, before, after, held_out=True))
    return found


def _described(
    candidate: Candidate,
    found: FoundCandidates,
    table: PassTable,
    rater: Rater,
    judges: Judges,
) -> FoundOperation:
    (at,) = (
        number
        for number, one in enumerate(found.candidates)
        if (one.operation.result, one.operation.parameters)
        == (candidate.operation.result, candidate.operation.parameters)
    )
    return FoundOperation(
        candidate.operation,
        print_term(candidate.sequence),
        judges.proof(candidate),
        table.layers_of(at),
        sum(table.cycles(())) - sum(table.cycles((at,))),
        rater.cost(at),
    )


def _texts(found: FoundCandidates, chosen: Positions) -> tuple[str, ...]:
    return tuple(print_term(found.candidates[one].operation.result) for one in chosen)
