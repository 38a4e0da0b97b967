"""The `rtl` engine: the generated Verilog, built with Verilator and run in a small C++ harness."""
