"""What a configuration costs on an FPGA: synthesis by Yosys, and the count of what it used."""
