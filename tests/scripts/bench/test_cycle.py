"""The benchmark of the cycle engine, on small programs."""

from __future__ import annotations

import numpy as np

from tandem.hw.config_files import load_config
from tandem.hw.isa import validate
from tandem.scripts.bench import cycle
from tests.support.hw.vectors import load_vector


def test_it_reports_every_engine() -> None:
    vector = load_vector("016_gemm_default")
    subject = cycle.Subject("gemm", vector.program, vector.before)
    rows = [*cycle.measure_seconds(subject), *cycle.measure(subject, rtl=False)]
    names = {row.name for row in rows}
    for checks in ("with checks", "without"):
        for engine in ("functional", "cycle", "cycle, no data"):
            assert f"gemm: {engine}, {checks}" in names
    assert {"gemm: validation", "gemm: time alone, prepared"} <= names
    assert all(row.value > 0 for row in rows)


def test_the_gemms_are_legal() -> None:
    subject = cycle.gemm_subject(load_config("pynq"))
    validate(subject.program)
    assert (subject.least, subject.least_with_data) == (
        cycle.LEAST_GEMM,
        cycle.LEAST_GEMM_WITH_DATA,
    )


def test_a_layer_alone_is_legal_and_has_the_layers_work() -> None:
    stream, program = cycle.network("digits", "small8")
    layer = stream.layers[2].name
    alone = cycle.layer_program(stream, program, layer)
    validate(alone)
    assert len(alone) == np.count_nonzero(stream.layer_of == 2) + 1
