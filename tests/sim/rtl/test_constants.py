"""Constants of the C++ harness."""

from __future__ import annotations

import re

from tandem.sim.engine import Channel
from tandem.sim.rtl.constants import Rule, cpp_header


def test_no_name_is_defined_twice() -> None:
    names = re.findall(r"\b(k[A-Z0-9]\w*)\b", cpp_header())
    assert len(names) == len(set(names))
    assert len(names) >= 8 + len(Channel) + len(Rule)


def test_values_and_messages() -> None:
    header = cpp_header()
    assert "enum Response : uint8_t { kOkay = 0, kSlverr = 2, kDecerr = 3 };\n" in header
    assert "enum Channel : unsigned { kAr = 1, kR = 2, kAw = 4, kW = 8, kB = 16 };\n" in header
    assert "constexpr uint32_t kRunning = 1u << 20;\n" in header
    assert 'constexpr const char* kArPage = "AR crosses a 4 KiB page";\n' in header
