"""Judgements: chains of networks, and proofs, gates and cycles of finalists; each made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf

from tandem.base.cache import content_key
from tandem.compiler.machines.accelerator.discovery.candidates import Candidate
from tandem.compiler.machines.accelerator.discovery.chains import LayerChains
from tandem.compiler.machines.accelerator.discovery.costs import SetCost, tables_of
from tandem.compiler.machines.accelerator.discovery.pass_counts import PassCounts
from tandem.compiler.tune.pool import Pool
from tandem.hw.alu_terms import print_term
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.synthesize import synthesize
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.discovery.judged import Judged
from tandem.workbench.discovery.kept_chains import chains_from_json, chains_to_json
from tandem.workbench.discovery.measure import Answer, Question, chains, passes

Say = Callable[[str], None]
PROOF_SECONDS = 60.0
COUNTED = "tiny"
"""The machine whose gates Yosys counts; what operations take is the same in all lanes."""


@dataclass(frozen=True)
class Judges:
    """Makes judgements, or finds them among those that were made.

    Attributes
    ----------
    pool
        Processes that compile networks.
    """

    judged: Judged
    pool: Pool[Answer]
    say: Say

    def chains(self, question: Question, config: HardwareConfig) -> tuple[LayerChains, ...]:
        """The chains of a network's layers, which are gathered in this process. Raises as
        `measure.chains`."""
        key = content_key("chains", question.key(config))
        rows = self.judged.get(key)
        if rows is None:
            self.say(f"{question.network.model}: gathering its passes")
            rows = chains_to_json(chains(question, config, inf))
            self.judged.put(key, rows)
        return chains_from_json(rows)

    def passes(self, question: Question, config: HardwareConfig) -> PassCounts:
        """The cycles of a network's passes by what they are for, counted in this process. Raises as
        `measure.passes`."""
        key = content_key("passes", question.key(config))
        counts = self.judged.get(key)
        if counts is None:
            self.say(f"{question.network.model}: counting its passes")
            counts = asdict(passes(question, config))
            self.judged.put(key, counts)
        return PassCounts(**counts)

    def cycles(self, question: Question, configs: Sequence[HardwareConfig]) -> list[Answer]:
        """The exact cycles of a network on machines, in their order."""
        keys = [question.key(config) for config in configs]
        known = {key: found for key in keys if (found := self.judged.get(key)) is not None}
        asked = {key: config for key, config in zip(keys, configs, strict=True) if key not in known}
        order = [*asked]
        self.say(f"{question.network.model}: compiling for {len(asked)} machines")
        for at, found in self.pool.measure(question, [*asked.values()], inf):
            known[order[at]] = asdict(found)
            if found.lasting:
                self.judged.put(order[at], known[order[at]])
        return [Answer(**known[key]) for key in keys]

    def proof(self, candidate: Candidate) -> str:
        """What z3 says of a candidate being what it replaces."""
        # The solver is large and optional.
        from tandem.hw.alu_formulas import prove_equal

        operation = candidate.operation
        types = ", ".join(f"{one.name} {one.type_text}" for one in operation.parameters)
        texts = print_term(operation.result), print_term(candidate.sequence)
        key = content_key("proof", types, *texts)
        verdict: str | None = self.judged.get(key)
        if verdict is None:
            self.say(f"proving {operation.name}")
            found = prove_equal(
                operation.result, candidate.sequence, operation.parameters, PROOF_SECONDS
            )
            verdict = found.text
            # What was given up may be decided where there is more time.
            if found.proved or found.counterexample:
                self.judged.put(key, verdict)
        return verdict

    def synthesised(self, baseline: HardwareConfig, config: HardwareConfig) -> SetCost:
        """What Yosys counts beside the base machine: in the lanes of a small machine with the same
        operations. Raises as `synthesize`."""
        small = load_config(COUNTED)
        operations, stages = config.alu_operations, config.alu_stages
        own = self._counted(small.replace(alu_operations=operations, alu_stages=stages))
        before = self._counted(small)
        lanes = baseline.acc_lanes / small.acc_lanes
        lut, dsp = (round(lanes * (more - less)) for more, less in zip(own, before, strict=True))
        return SetCost(lut, dsp, lut / tables_of(baseline))

    def _counted(self, config: HardwareConfig) -> tuple[int, int]:
        design = verilog_of(config)
        files = sorted(design.files.items())
        key = content_key("gates", *(text for file in files for text in file))
        found = self.judged.get(key)
        if found is None:
            names = ", ".join(operation.name for operation in config.alu_operations) or "none"
            self.say(f"Yosys counts {names}")
            resources = synthesize(design, Family.XC7)
            found = resources.lut, resources.dsp
            self.judged.put(key, found)
        lut, dsp = found
        return int(lut), int(dsp)
