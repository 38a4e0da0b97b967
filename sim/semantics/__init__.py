"""What each instruction means, written once, in Python that Numba compiles.

One function an instruction: `load`, `store`, `gemm`, `alu` take the on-chip memories (`chip`), main
memory (`dram`) and the instruction's fields (`fields`), and return the code of a fault or 0, with
what there is to say about it left in `detail`; `report` makes the exception of it. They rely on the
static rules of `hw.isa.validate`; everything that depends on data or addresses they check.
"""
