"""The machine as a core for other people's tools: testbench, FuseSoC, constraints, Vivado."""
