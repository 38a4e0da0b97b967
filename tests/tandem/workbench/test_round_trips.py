"""What round trips to the CPU cost."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import quantise_network
from tandem.compiler.quantise.samples import synthetic
from tandem.runtime.artifact import Artifact, Provenance
from tandem.scripts.explain import print_round_trips
from tandem.workbench.round_trips import round_trips
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import image, run_on, targets
from tests.support.compiler.quantise.networks import network


def compiled(text: str) -> Artifact:
    function = network(text)
    found = quantise_network(
        function, list(synthetic(function)), NativeRunner(), targets=compile_options().exact_on
    )
    return build(found.function, targets(machine("tiny")), Provenance("net"))


HEAD = "func @main(x: float32[1, 6, 4, 4], w: float32[6, 6, 1, 1]):\n  c = conv2d(x, w)\n"


def test_a_round_trip() -> None:
    """6 channels of 4 x 4 pixels are two blocks of 4 channels, 128 bytes, there and back."""
    artifact = compiled(f"{HEAD}  s = sigmoid(c)\n  y = conv2d(s, w)\n  return y")
    (trip,) = round_trips(artifact)
    assert (trip.after, trip.before) == ("c", "y")
    assert (trip.bytes_to_cpu, trip.bytes_to_accelerator) == (128, 128)
    assert "sigmoid" in trip.operators
    assert trip.seconds is trip.layout_seconds is None
    profile = run_on(artifact, "functional", image((1, 6, 4, 4))).profile
    (timed,) = round_trips(artifact, profile.steps)
    own = [step.seconds for step in profile.steps if "sigmoid" in step.operators]
    assert timed.seconds == pytest.approx(np.sum(own))
    assert timed.layout_seconds == 0
    assert timed.as_json() == {
        "after": "c",
        "before": "y",
        "op": "+".join(timed.operators),
        "bytes_to_cpu": 128,
        "bytes_to_accelerator": 128,
        "seconds": timed.seconds,
        "layout_seconds": 0,
    }


def test_what_is_read_by_both(capsys: pytest.CaptureFixture[str]) -> None:
    """The second layer adds the first one's result, which stays with the accelerator: the CPU
    only reads it."""
    artifact = compiled(
        f"{HEAD}  s = sigmoid(c)\n  d = conv2d(s, w)\n  y = add(d, c)\n"
        "  r = transpose(y, perm=[0, 1, 3, 2])\n  z = conv2d(r, w)\n  return z"
    )
    trips = round_trips(artifact)
    assert [(each.bytes_to_cpu, each.bytes_to_accelerator) for each in trips] == [(128, 128)] * 2
    print_round_trips(trips)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "2 round trips: without, 3 launches would be one"
    assert [line.split() for line in lines[3:-1]] == [
        ["c", "y", "128", "128"],
        ["y", "z", "128", "128"],
    ]


def test_without_round_trips(capsys: pytest.CaptureFixture[str]) -> None:
    artifact = compiled(f"{HEAD}  y = conv2d(c, w)\n  return y")
    assert round_trips(artifact) == ()
    print_round_trips(())
    assert capsys.readouterr().out == ""
