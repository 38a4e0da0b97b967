"""What `tandem soc` says of systems with chosen figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("litex", reason="the extra soc")

from tandem.hw.config_files import load_config
from tandem.hw.synthesis.chip import CellUse, PartUse
from tandem.scripts import soc_report
from tandem.scripts.soc_report import print_soc, soc_json
from tandem.workbench.soc import Soc
from tandem.workbench.soc.console import SocOutput, SocRun
from tests.support.scripts.printed import lines_of

RUN = SocRun(
    (SocOutput("probabilities", 8, 10, 2.5e-6), SocOutput("classes", 3, 3, 0.0)),
    *(700, 60_000, 50_000, 49_000, 30_000, 12_000, 5_000, 123_456, 2.34),
)
DESCRIPTION = SimpleNamespace(
    processor="vexriscv", memory_bytes=65_536, bus_bits=64, latency=6, in_flight=8
)


def soc(**changes: Any) -> Soc:
    config = load_config("tiny-x")
    made = Soc(
        Path("out"),
        ("soc.v", "firmware/main.c"),
        cast(Any, SimpleNamespace(config=config)),
        cast(Any, DESCRIPTION),
        29_500,
        RUN,
        None,
    )
    return replace(made, **changes)


def gateware() -> Any:
    timing = "timing"
    layout = SimpleNamespace(
        parts={"accelerator": PartUse(1_234, 5, 678, 16, 7), "processor": PartUse(lut=2)},
        cells={
            "DP16KD": CellUse(7, 208),
            "TRELLIS_COMB": CellUse(1_500, 83_640),
            "TRELLIS_IO": CellUse(4, 365),
        },
        timing=timing,
    )
    nextpnr = SimpleNamespace(version=lambda: "0.8")
    return SimpleNamespace(
        layout=layout, options=SimpleNamespace(nextpnr=nextpnr), as_json=lambda: {"mhz": 61.0}
    )


def test_json_of_a_run() -> None:
    assert soc_json(soc()) == {
        "files": ["out/soc.v", "out/firmware/main.c"],
        "cpu": "vexriscv",
        "config": "tiny-x",
        "memory": {"bytes": 65_536, "bits": 64, "latency": 6, "in_flight": 8},
        "cycle": 29_500,
        "equal": True,
        "outputs": [
            {"name": "probabilities", "equal": 8, "count": 10, "error": 2.5e-6},
            {"name": "classes", "equal": 3, "count": 3, "error": 0.0},
        ],
        "cycles": {
            "total": 50_000,
            "alone": 49_000,
            "launches": 30_000,
            "cpu": 20_000,
            "kernels": 12_000,
            "configuration": 5_000,
            "firmware": 3_000,
            "first": 60_000,
            "load": 700,
            "simulated": 123_456,
        },
        "seconds": 2.34,
        "gateware": None,
    }


def test_json_without_a_run_and_with_gateware() -> None:
    found = soc_json(soc(run=None))
    assert [found[name] for name in ("equal", "cycles", "seconds", "gateware")] == [None] * 4
    assert not {"outputs", "nextpnr"} & found.keys()
    found = soc_json(soc(run=None, gateware=gateware()))
    assert (found["nextpnr"], found["gateware"]) == ("0.8", {"mhz": 61.0})


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(
        soc_report,
        "print_timing",
        lambda timing, nextpnr: print("clock", timing, nextpnr.version()),
    )


def test_a_run_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_soc(soc())
    lines = lines_of(capsys)
    assert lines[0] == (
        "out: tiny-x with vexriscv; memory of 65,536 bytes, 64 bits wide, latency 6, "
        "8 bursts in flight"
    )
    rows = [" ".join(line.split()) for line in lines[1:7]]
    assert rows == [
        "part cycles",
        "launches 30,000 29,500 by the engine cycle, with this memory",
        "CPU kernels 12,000",
        "configuration 5,000 copies, registers, caches, waiting",
        "firmware 3,000 between steps",
        "total 50,000 49,000 without reading the clock between steps",
    ]
    assert lines[7:] == [
        "the first run 60,000, to load 700",
        "probabilities: 8 of 10 elements equal, apart by 2.5e-06 of the greatest",
        "classes: 3 of 3 elements equal",
        "simulated 123,456 cycles in 2.3 s",
    ]


def test_without_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    print_soc(soc(run=None))
    assert lines_of(capsys)[1:] == ["  make -C firmware and make -C simulation build it"]


def test_gateware_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_soc(soc(run=None, gateware=gateware()))
    lines = lines_of(capsys)
    rows = [line.split() for line in lines[1:4]]
    assert rows == [
        ["part", "LUT", "LUTRAM", "FF", "DSP", "BRAM"],
        ["accelerator", "1,234", "5", "678", "16", "7"],
        ["processor", "2", "0", "0", "0", "0"],
    ]
    # In the order of kinds, those that there are.
    assert lines[4:] == [
        "placed: 1,500 of 83,640 TRELLIS_COMB, 7 of 208 DP16KD",
        "clock timing 0.8",
    ]
