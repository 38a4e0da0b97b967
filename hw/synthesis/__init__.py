"""FPGA resources of a configuration: synthesis by Yosys, and a count of the cells used."""
