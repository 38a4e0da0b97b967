"""Runs on several batches, told as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec.structs import replace as changed
from numpy.typing import NDArray

from runtime.executor import Run
from runtime.layers import LayerProfile, StreamRun
from runtime.profile import Profile, StepProfile

__all__ = ["join_runs"]


def join_runs(runs: Sequence[Run]) -> Run:
    """Runs of one artifact: outputs one after the other, everything that counts summed up.

    Of a stream's run the events are those of the first.
    """
    first, *others = runs
    if not others:
        return first
    steps = zip(*(each.profile.steps for each in runs), strict=True)
    profile = Profile(
        tuple(_step(each) for each in steps), sum(each.profile.seconds for each in runs)
    )
    outputs = {name: _one([each.outputs[name] for each in runs]) for name in first.outputs}
    watched = {name: np.stack([each.watched[name] for each in runs]) for name in first.watched}
    return Run(outputs, profile, watched)


def _one(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays[0].ndim else np.stack(arrays)


def _step(steps: tuple[StepProfile, ...]) -> StepProfile:
    runs = [each.run for each in steps if each.run is not None]
    return replace(
        steps[0],
        macs=sum(each.macs for each in steps),
        seconds=sum(each.seconds for each in steps),
        run=_stream(runs) if runs else None,
    )


def _stream(runs: list[StreamRun]) -> StreamRun:
    results = [each.result for each in runs]
    whole = replace(
        results[0],
        cycles=_sum(each.cycles for each in results),
        seconds=sum(each.seconds for each in results),
    )
    layers = zip(*(each.layers for each in runs), strict=True)
    return replace(runs[0], result=whole, layers=tuple(_layer(each) for each in layers))


def _layer(layers: tuple[LayerProfile, ...]) -> LayerProfile:
    first, count = layers[0], len(layers)
    of = first.layer
    return replace(
        first,
        layer=changed(of, macs=count * of.macs, least_bytes=count * of.least_bytes),
        cycles=_sum(each.cycles for each in layers),
        causes={cause: sum(each.causes[cause] for each in layers) for cause in first.causes},
        loaded=sum(each.loaded for each in layers),
        stored=sum(each.stored for each in layers),
        instructions=sum(each.instructions for each in layers),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(each or 0 for each in known)
