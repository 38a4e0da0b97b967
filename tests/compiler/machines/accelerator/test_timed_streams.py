"""The streams of a network alone are those of its artifact."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.timed_streams import (
    TIME_FIELDS,
    code_of,
    simplified,
    timed_streams,
)
from tandem.compiler.machines.cpu.runner import exact_runner
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import streams_of
from tandem.workbench.devices import Accelerator
from tests.support.compiler.models.digits import prepared_digits

OTHER = {
    "longest_burst": 16,
    "reads_in_flight": 8,
    "writes_in_flight": 2,
    "axi_cache": 15,
    "axi_prot": 1,
    "instruction_queue": 4,
    "fetch_buffer": 8,
    "load_buffer": 16,
    "compute_buffer": 1024,
}


@pytest.mark.parametrize("name", [pytest.param("small8", marks=pytest.mark.exhaustive), "tiny"])
def test_programs_and_memory_are_those_of_the_artifact(name: str) -> None:
    prepared = prepared_digits()
    accelerator = Accelerator(load_config(name), DEFAULT_MEMORY, hiding=True)
    artifact = prepared.build(accelerator.targets())
    found = timed_streams(simplified(prepared.function, exact_runner()), accelerator.target())
    assert len(found) == len(streams_of(artifact))
    for stream, code in zip(found, streams_of(artifact).values(), strict=True):
        assert stream.stream.program.data == code.program
        assert np.array_equal(stream.image(weights=True), code.image)
        assert stream.layers == {layer.name for layer in code.layers}
        # Without weights, memory is the same everywhere else.
        different = np.flatnonzero(stream.image() != code.image)
        weights = sum(layer.macs for layer in code.layers)
        assert 0 < len(different) < weights


def test_programs_do_not_depend_on_what_changes_time_alone() -> None:
    prepared = prepared_digits()
    assert set(OTHER) == set(TIME_FIELDS)
    one, other = HardwareConfig(), HardwareConfig(**OTHER, name="other")  # type: ignore[arg-type]
    programs = [
        [
            stream.stream.program.data
            for stream in timed_streams(
                simplified(prepared.function, exact_runner()),
                Accelerator(config, DEFAULT_MEMORY, hiding=True).target(),
            )
        ]
        for config in (one, other)
    ]
    assert programs[0] == programs[1]
    assert code_of(one) == code_of(other) == one


def test_all_other_fields_are_part_of_the_code() -> None:
    default = HardwareConfig()
    assert {field.name for field in fields(HardwareConfig)} > {*TIME_FIELDS}
    for change in ({"bus_bits": 128}, {"acc_read_ports": 1}, {"log_inp_buffer": 14}):
        assert code_of(default.replace(**change)) != code_of(default)
