"""The accelerator's part of artifacts."""

from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.runtime.artifact import config_of, streams_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both
from tests.support.compiler.plan.quantised_graphs import residual_net


def test_streams_and_their_machine() -> None:
    alone, shared = both(residual_net(), machine("small8"))
    assert [*streams_of(shared)] == ["stream"]
    assert config_of(shared) == load_config("small8")
    assert streams_of(shared)["stream"] is shared.code["stream"]
    assert not streams_of(alone)
    assert config_of(alone) is None
