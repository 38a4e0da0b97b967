"""The colours of the charts of a run."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tandem.sim.why.causes import Cause

# Okabe and Ito's colours, which stay apart for every kind of colour blindness. Their yellow is too
# pale for a white page; wine and olive are Tol's, and grey stands for start and end.
CAUSE_COLOURS: Mapping[Cause, str] = {
    Cause.GEMM: "#0072B2",
    Cause.RESET: "#56B4E9",
    Cause.ALU: "#009E73",
    Cause.LOAD: "#E69F00",
    Cause.WAIT_LOAD: "#D55E00",
    Cause.WAIT_STORE: "#CC79A7",
    Cause.WAIT_TOKEN: "#882255",
    Cause.WAIT_FETCH: "#999933",
    Cause.OTHER: "#9AA1A9",
}
OWN_LOSS = "#56B4E9"
LOADED, STORED = "#56B4E9", "#E69F00"


class Hiding(Enum):
    """With latency hiding or without; the values are labels for people."""

    WITHOUT = "without"
    WITH = "with"


HIDING_COLOURS: Mapping[Hiding, str] = {Hiding.WITHOUT: "#B4BEC9", Hiding.WITH: "#0072B2"}
