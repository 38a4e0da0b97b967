"""Runs on several batches, combined into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec.structs import replace as replace_fields
from numpy.typing import NDArray

from runtime.executor import Run
from runtime.layer_profiles import LayerProfile, StreamRun
from runtime.profile import Profile, StepProfile


def join_runs(runs: Sequence[Run]) -> Run:
    """Combine runs of one artifact: outputs are concatenated, times and counts summed.

    The events of a stream are those of the first run.
    """
    first, *others = runs
    if not others:
        return first
    steps = zip(*(run.profile.steps for run in runs), strict=True)
    profile = Profile(tuple(map(_step, steps)), sum(run.profile.seconds for run in runs))
    outputs = {name: _concatenated([run.outputs[name] for run in runs]) for name in first.outputs}
    watched = {name: np.stack([run.watched[name] for run in runs]) for name in first.watched}
    return Run(outputs, profile, watched)


def _concatenated(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)


def _step(steps: tuple[StepProfile, ...]) -> StepProfile:
    runs = [step.run for step in steps if step.run is not None]
    return replace(
        steps[0],
        macs=sum(step.macs for step in steps),
        seconds=sum(step.seconds for step in steps),
        run=_stream(runs) if runs else None,
    )


def _stream(runs: list[StreamRun]) -> StreamRun:
    results = [run.result for run in runs]
    total = replace(
        results[0],
        cycles=_sum(result.cycles for result in results),
        seconds=sum(result.seconds for result in results),
    )
    layers = zip(*(run.layers for run in runs), strict=True)
    return replace(runs[0], result=total, layers=tuple(map(_layer, layers)))


def _layer(layers: tuple[LayerProfile, ...]) -> LayerProfile:
    first, count = layers[0], len(layers)
    layer = first.layer
    return replace(
        first,
        layer=replace_fields(layer, macs=count * layer.macs, least_bytes=count * layer.least_bytes),
        cycles=_sum(profile.cycles for profile in layers),
        causes={cause: sum(profile.causes[cause] for profile in layers) for cause in first.causes},
        loaded=sum(profile.loaded for profile in layers),
        stored=sum(profile.stored for profile in layers),
        instructions=sum(profile.instructions for profile in layers),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)
