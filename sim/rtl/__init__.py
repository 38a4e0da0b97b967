"""The `rtl` engine: the generated Verilog, built with Verilator and run behind a small harness."""
