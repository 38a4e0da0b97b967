"""A learned cost model that reads programs: a recurrent network over their trees of loops.

It is the alternative to boosted trees of AutoTVM (Chen et al., NeurIPS 2018, section 3.1, TreeGRU):
statements are embedded; the state of a loop is that of a gated unit, of the loop's numbers and the
sum of the states inside; a score is a linear function of the root's. As `BoostedTrees` it learns
how far a cost exceeds its reference. It needs PyTorch, which nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tandem.compiler.plan.space import Floats, Ints
from tandem.compiler.tune.boosted_trees import labels
from tandem.compiler.tune.loop_trees import LOOP_NUMBERS, STATEMENT_NUMBERS, LoopTree

if TYPE_CHECKING:
    import torch

_STATE: Final = 48
"""Numbers of a state."""
_BATCH: Final = 32
EPOCHS: Final = 60
_RATE: Final = 3e-3
_RANKED: Final = 1.0
"""The weight of the order of pairs in the loss, beside squared errors."""


@dataclass(frozen=True, slots=True)
class MeasuredPrograms:
    """Measured programs of one workload on one machine.

    Attributes
    ----------
    costs, references
        As in `Measured`.
    """

    trees: tuple[LoopTree, ...]
    costs: Floats
    references: Floats

    @property
    def labels(self) -> Floats:
        """What is learned, as in `Measured`."""
        return labels(self.costs, self.references)


class TreeRnn:
    """A model that is trained on measured programs. Raises `ImportError` without PyTorch."""

    def __init__(self, seed: int, epochs: int = EPOCHS) -> None:
        import torch

        self._seed, self._epochs = seed, epochs
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            self._net = torch.nn.ModuleDict(
                {
                    "statement": torch.nn.Linear(STATEMENT_NUMBERS, _STATE),
                    "loop": torch.nn.GRUCell(LOOP_NUMBERS, _STATE),
                    "score": torch.nn.Linear(_STATE, 1),
                }
            )
        self._scaling: _Scaling | None = None
        self._middle, self._spread = 0.0, 1.0

    def train(self, groups: Sequence[MeasuredPrograms]) -> None:
        """Learn from these measurements, all groups of which weigh the same."""
        import torch

        self._scaling = _Scaling.of([tree for group in groups for tree in group.trees])
        known = np.concatenate([group.labels for group in groups])
        self._middle, self._spread = float(known.mean()), float(known.std()) or 1.0
        wanted = [self._tensor((group.labels - self._middle) / self._spread) for group in groups]
        random = np.random.default_rng(self._seed)
        steps = [max(1, round(len(group.trees) / _BATCH)) for group in groups]
        optimiser = torch.optim.Adam(self._net.parameters(), lr=_RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, max_lr=_RATE, total_steps=self._epochs * sum(steps)
        )
        for _ in range(self._epochs):
            for at in random.permutation(np.repeat(np.arange(len(groups)), steps)):
                trees = groups[at].trees
                rows = random.choice(len(trees), min(_BATCH, len(trees)), replace=False)
                found = self._predicted([trees[row] for row in rows])
                loss = _loss(found, wanted[at][torch.from_numpy(rows)])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()

    def scores(self, trees: Sequence[LoopTree], references: Floats) -> Floats:
        """A number for each program of one workload, higher is better: the negative logarithm of
        its predicted cost. The model must be trained."""
        import torch

        with torch.no_grad():
            found = self._predicted(trees).numpy().astype(np.float64)
        return np.asarray(-np.log(references) - self._middle - self._spread * found, np.float64)

    def _predicted(self, trees: Sequence[LoopTree]) -> Any:
        """What the network says of each program."""
        import torch

        assert self._scaling is not None, "trained"
        forest = _Forest.of(trees)
        scaled = self._tensor(self._scaling.statements(forest.statements))
        states = torch.zeros(forest.nodes, _STATE)
        leaves = torch.from_numpy(forest.leaves)
        states = states.index_copy(0, leaves, torch.tanh(self._net["statement"](scaled)))
        for level in forest.levels:
            sums = torch.zeros(len(level.nodes), _STATE)
            sums = sums.index_add(
                0, torch.from_numpy(level.parents), states[torch.from_numpy(level.inside)]
            )
            numbers = self._tensor(self._scaling.loops(level.numbers))
            new = self._net["loop"](numbers, sums)
            states = states.index_copy(0, torch.from_numpy(level.nodes), new)
        return self._net["score"](states[torch.from_numpy(forest.roots)])[:, 0]

    @staticmethod
    def _tensor(numbers: Floats) -> torch.Tensor:
        import torch

        return torch.from_numpy(np.ascontiguousarray(numbers, np.float32))


def _loss(found: Any, wanted: Any) -> Any:
    """Squared errors, and the logistic loss of the order of all pairs, by how far they differ."""
    import torch

    squared = ((found - wanted) ** 2).mean()
    lead, true = found[:, None] - found[None, :], wanted[:, None] - wanted[None, :]
    ranked = (true.abs() * torch.nn.functional.softplus(-lead * true.sign())).mean()
    return squared + _RANKED * ranked


@dataclass(frozen=True, slots=True)
class _Scaling:
    """Means and standard deviations of the numbers of statements and of loops."""

    of_statements: tuple[Floats, Floats]
    of_loops: tuple[Floats, Floats]

    @staticmethod
    def of(trees: Sequence[LoopTree]) -> _Scaling:
        """Those of some programs."""
        nodes = [node for tree in trees for node in _all(tree)]
        statements = np.array([node.numbers for node in nodes if not node.inside])
        loops = np.array([node.numbers for node in nodes if node.inside])
        return _Scaling(_moments(statements), _moments(loops))

    def statements(self, numbers: Floats) -> Floats:
        """Numbers of statements, scaled."""
        return (numbers - self.of_statements[0]) / self.of_statements[1]

    def loops(self, numbers: Floats) -> Floats:
        """Numbers of loops, scaled."""
        return (numbers - self.of_loops[0]) / self.of_loops[1]


def _moments(numbers: Floats) -> tuple[Floats, Floats]:
    spread = numbers.std(axis=0)
    return numbers.mean(axis=0), np.where(spread > 0, spread, 1.0)


@dataclass(frozen=True, slots=True)
class _Level:
    """The loops of one height.

    Attributes
    ----------
    nodes
        Their numbers in the forest.
    inside, parents
        All nodes inside of them, and which of `nodes` each is inside of.
    """

    nodes: Ints
    numbers: Floats
    inside: Ints
    parents: Ints


@dataclass(frozen=True, slots=True)
class _Forest:
    """Trees by height, so that all loops of one height are computed together."""

    nodes: int
    leaves: Ints
    statements: Floats
    levels: tuple[_Level, ...]
    roots: Ints

    @staticmethod
    def of(trees: Sequence[LoopTree]) -> _Forest:
        """The forest of some programs."""
        numbers: list[tuple[float, ...]] = []
        inside: list[list[int]] = []
        by_height: dict[int, list[int]] = {}

        def add(tree: LoopTree) -> tuple[int, int]:
            """The number and the height of a node that is added."""
            below = [add(each) for each in tree.inside]
            height = 1 + max(of for _, of in below) if below else 0
            numbers.append(tree.numbers)
            inside.append([node for node, _ in below])
            by_height.setdefault(height, []).append(len(numbers) - 1)
            return len(numbers) - 1, height

        roots = [add(tree)[0] for tree in trees]
        leaves = by_height.get(0, [])
        levels = []
        for height in sorted(by_height.keys() - {0}):
            nodes = by_height[height]
            pairs = [(at, node) for at, loop in enumerate(nodes) for node in inside[loop]]
            parents, nodes_inside = np.array(pairs, np.int64).T
            table = np.array([numbers[node] for node in nodes])
            levels.append(
                _Level(np.array(nodes), table, nodes_inside.copy(), np.ascontiguousarray(parents))
            )
        statements = np.array([numbers[node] for node in leaves]).reshape(-1, STATEMENT_NUMBERS)
        return _Forest(
            len(numbers), np.array(leaves, np.int64), statements, tuple(levels), np.array(roots)
        )


def _all(tree: LoopTree) -> Iterator[LoopTree]:
    """A tree's nodes."""
    yield tree
    for inner in tree.inside:
        yield from _all(inner)
