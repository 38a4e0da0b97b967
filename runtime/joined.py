"""Runs on several batches, combined into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.errors import RunError
from tandem.runtime.executor import Run
from tandem.runtime.profile import Profile, join_steps


def join_runs(runs: Sequence[Run]) -> Run:
    """Combine runs of one artifact: outputs are concatenated, times and counts summed.

    The events of a stream are those of the first run. A watched tensor has the values of the runs
    that wrote it: of the others, it is in a branch that they did not take.

    Raises
    ------
    RunError
        Outputs whose shapes depend on the inputs, and differ beyond the first axis.
    """
    first, *others = runs
    if not others:
        return first
    steps = zip(*(run.profile.steps for run in runs), strict=True)
    profile = Profile(tuple(map(join_steps, steps)), sum(run.profile.seconds for run in runs))
    outputs = {
        name: _concatenated(name, [run.outputs[name] for run in runs]) for name in first.outputs
    }
    written = dict.fromkeys(name for run in runs for name in run.watched)
    watched = {
        name: np.stack([run.watched[name] for run in runs if name in run.watched])
        for name in written
    }
    return Run(outputs, profile, watched)


def _concatenated(name: str, arrays: list[NDArray[Any]]) -> NDArray[Any]:
    if len({array.shape[1:] for array in arrays}) > 1:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise RunError(f"output {name} has a shape of its own in each batch: {shapes}")
    return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)
