"""FuseSoC's generator of accelerators: makes a core in the current folder, as a YAML file asks."""

from __future__ import annotations

import sys

from tandem.workbench.ip.generator import generate_core

if __name__ == "__main__":
    generate_core(sys.argv[1])
