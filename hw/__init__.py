"""The machine: its configuration, its instruction set, and its RTL in Amaranth."""
