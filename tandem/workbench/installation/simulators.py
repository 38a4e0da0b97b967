"""Whether the compiler and the simulators work, and whether they are compiled."""

from __future__ import annotations

from contextlib import nullcontext

from tandem.base.errors import Error
from tandem.workbench.installation.check import Check

_NAME = "simulators"
_LAYER = "probe=8,8,16,16,3,1,1"
_PRESETS = ("small8", "small8-x")


class _NotCompiledError(Error):
    """A function of the simulators whose machine code is not kept."""


def simulators_check(*, compile_now: bool = False) -> Check:
    """A convolution that is compiled, simulated on two machines, and compared with NumPy's.

    Parameters
    ----------
    compile_now
        Compile what has to be compiled, which takes seconds; otherwise it is only said.
    """
    try:
        # Here, because each of them may lack a package.
        from tandem.base.jit import reported
        from tandem.hw.config_files import load_config
        from tandem.sim.engines import make_engine
        from tandem.workbench.utilization.conv_layers import parse_layer
        from tandem.workbench.utilization.measure import measure
    except ImportError as error:
        return Check(_NAME, False, True, str(error), "install the packages above")

    def refuse(function: str) -> None:
        raise _NotCompiledError(function)

    cycles = {}
    try:
        with nullcontext() if compile_now else reported(refuse, alone=True):
            for preset in _PRESETS:
                engine = make_engine("cycle", load_config(preset))
                try:
                    for row in measure(engine, [parse_layer(_LAYER)], 0, lambda step: None):
                        cycles[preset] = row.times.cycles_with
                finally:
                    engine.close()
    except _NotCompiledError:
        detail = "not compiled yet: the first run compiles them, once, in some seconds"
        return Check(_NAME, True, True, detail, "tandem doctor --compile does it now")
    except (Error, ImportError) as error:
        return Check(_NAME, False, True, str(error), "install the packages above")
    times = ", ".join(f"{found:,} cycles on {preset}" for preset, found in cycles.items())
    return Check(_NAME, True, True, f"compiled; a convolution is right: {times}")
