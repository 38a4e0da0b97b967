"""Why a choice is good: choices beside it, which have one knob set otherwise, and what they cost.

All are measured on the accelerator's exact time, as the tuner does, with what their cycles went to
and what they moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tandem.base.errors import BaseError
from tandem.compiler.errors import CompilerError
from tandem.compiler.plan.planner import fitting_choices, space_of_choice
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.tune.tasks import Task
from tandem.hw.encoding import Opcode
from tandem.hw.errors import HardwareError
from tandem.hw.isa.element_sizes import element_sizes
from tandem.sim.engines import make_engine
from tandem.sim.errors import SimulationError
from tandem.sim.why.causes import Cause, layer_causes
from tandem.sim.why.times import RunTimes
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import MeasuredLayer, compiled, timed_run

FEW = 4
"""A knob with at most so many settings that fit is shown with all; of others the next below and
above."""


@dataclass(frozen=True, slots=True)
class ChoiceCost:
    """What a layer costs with a choice.

    Attributes
    ----------
    causes
        Cycles by cause, which sum to `cycles`, as seen from compute.
    loaded, stored
        Bytes from and to DRAM.
    instructions
        Number of instructions.
    """

    cycles: int
    causes: Mapping[Cause, int]
    loaded: int
    stored: int
    instructions: int

    @property
    def moved(self) -> int:
        """Bytes that crossed the bus for LOADs and STOREs."""
        return self.loaded + self.stored

    def as_json(self) -> dict[str, object]:
        """Its entries in the command's JSON."""
        return {
            "cycles": self.cycles,
            "causes": {cause.name.lower(): cycles for cause, cycles in self.causes.items()},
            "loaded": self.loaded,
            "stored": self.stored,
            "instructions": self.instructions,
        }


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A choice that differs in one knob.

    Attributes
    ----------
    cost
        Its cost; or why it has none, as text.
    """

    knob: str
    setting: Setting
    cost: ChoiceCost | str

    def as_json(self) -> dict[str, object]:
        """Its entry in the command's JSON."""
        found = {"error": self.cost} if isinstance(self.cost, str) else self.cost.as_json()
        return {"knob": self.knob, "setting": self.setting, **found}


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A choice of a layer, with those beside it.

    Attributes
    ----------
    bound
        A lower bound of the choice's cycles; 0 if none is known.
    alone
        The knobs of which no other setting fits.
    """

    task: Task
    choice: Choice
    cost: ChoiceCost
    bound: int
    neighbours: tuple[Neighbour, ...]
    alone: tuple[str, ...]

    @property
    def choice_text(self) -> str:
        """The choice on one line."""
        return " ".join(f"{knob}={setting}" for knob, setting in self.choice.items())

    def as_json(self) -> dict[str, object]:
        """The command's JSON."""
        return {
            "layer": self.task.name,
            "layers": list(self.task.layers),
            "template": self.task.template.name,
            "choice": dict(self.choice),
            **self.cost.as_json(),
            "bound": self.bound,
            "neighbours": [each.as_json() for each in self.neighbours],
            "no_other_setting_fits": list(self.alone),
        }


def neighbourhood(
    device: Accelerator, task: Task, report: Callable[[str], None] = lambda step: None
) -> Neighbourhood:
    """The choice that a task's layers are compiled with, and those beside it, measured.

    Parameters
    ----------
    report
        Is called with the knob and setting that is measured.

    Raises
    ------
    CompilerError, SimulationError
        The choice itself cannot be compiled or run.
    """
    layer = device.layer(task)
    report(task.name)
    own = _cost(layer, task.default)
    beside = settings_beside(task)
    neighbours: list[Neighbour] = []
    for knob, settings in beside.items():
        for setting in settings:
            report(f"{knob}={setting}")
            neighbours.append(Neighbour(knob, setting, _try(layer, task.default, knob, setting)))
    row = Choices.of([task.default])
    (bound,) = task.target.cost.bounds(task.template, task.workload, row)
    alone = tuple(knob for knob, settings in beside.items() if not settings)
    return Neighbourhood(task, task.default, own, int(bound), tuple(neighbours), alone)


def settings_beside(task: Task) -> dict[str, tuple[Setting, ...]]:
    """The settings of each knob that fit while all other knobs keep theirs: all if they are few,
    else the next below and above."""
    choice, target = task.default, task.target
    restricted = dict(target.settings)
    space = space_of_choice(task.template, task.workload, target.machine, choice, restricted)
    if space is None:
        return {}
    found: dict[str, tuple[Setting, ...]] = {}
    for knob, own in choice.items():
        fixed = {name: (setting,) for name, setting in choice.items() if name != knob}
        fitting = fitting_choices(target, task.template, task.workload, fixed, space)
        settings = [fitting.choice(row)[knob] for row in range(len(fitting))]
        found[knob] = _beside(own, settings)
    return found


def _beside(own: Setting, settings: Sequence[Setting]) -> tuple[Setting, ...]:
    others = [setting for setting in settings if setting != own]
    if len(others) < FEW or isinstance(own, str):
        return tuple(others)
    numbers = sorted(setting for setting in others if not isinstance(setting, str))
    below = [number for number in numbers if number < own][-1:]
    return (*below, *[number for number in numbers if number > own][:1])


def _try(layer: MeasuredLayer, choice: Choice, knob: str, setting: Setting) -> ChoiceCost | str:
    try:
        return _cost(layer, {**choice, knob: setting})
    except (CompilerError, BaseError, HardwareError, SimulationError) as error:
        return " ".join(f"{type(error).__name__}: {error}".split())


def _cost(layer: MeasuredLayer, choice: Choice) -> ChoiceCost:
    program, image = compiled(layer, choice)
    engine = make_engine("cycle", layer.config, layer.memory)
    result = timed_run(engine, program, image, events=True)
    times = RunTimes.of(program, result)
    (causes,) = layer_causes(program, times, [0] * len(program), 1)
    columns = program.columns()
    moved = columns.y_size * columns.x_size * element_sizes(program.config, columns)
    loaded, stored = (
        int(moved[columns.opcode == opcode].sum()) for opcode in (Opcode.LOAD, Opcode.STORE)
    )
    return ChoiceCost(sum(causes.values()), causes, loaded, stored, len(program))
