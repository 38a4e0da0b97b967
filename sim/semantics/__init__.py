"""The meaning of each instruction, in Python that is compiled.

One function for each instruction: `load`, `store`, `gemm`, `alu` take the on-chip memories
(`chip`), main memory (`dram`) and the instruction's fields (`fields`), and return the code of a
fault or 0, with its details left in `detail`, from which `report` makes the exception. They rely
on the static rules of `hw.isa.validate`, and check what depends on data or addresses.
"""
