# %% a
def make_image() -> np.ndarray:
    image = np.zeros(0x5000, np.uint8)
    for address, array in ((UOPS, micro_ops), (INP, a), (WGT, w)):
        data = array.view(np.uint8).ravel()
        image[address : address + data.size] = data
    return image


# %% b
def make_program(rows: int) -> Program:
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    asm.gemm((0, 1), [Loop(rows, dst=1)], reset=True)
    asm.load(MemoryId.WGT, sram=0, dram=WGT // 16, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=INP // 4, columns=rows, signals=Unit.COMPUTE)
    asm.gemm((0, 1), [Loop(rows, dst=1, src=1)], waits_for=Unit.LOAD, signals=Unit.STORE)
    asm.store(sram=0, dram=OUT // 4, columns=rows, waits_for=Unit.COMPUTE)
    asm.finish()
    return asm.build()


# %% c
def make_racing_program(rows: int) -> Program:
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=1)
    asm.gemm((0, 1), [Loop(rows, dst=1)], reset=True)
    asm.load(MemoryId.WGT, sram=0, dram=WGT // 16, columns=1)
    asm.load(MemoryId.INP, sram=0, dram=INP // 4, columns=rows)
    asm.gemm((0, 1), [Loop(rows, dst=1, src=1)], signals=Unit.STORE)
    asm.store(sram=0, dram=OUT // 4, columns=rows, waits_for=Unit.COMPUTE)
    asm.finish()
    return asm.build()


# %% d
def least_compute_cycles(rows: int) -> int:
    return 2 * rows  # each row is cleared once, and multiplied once


# %% e
def make_overlapped_program(rows: int) -> Program:
    half = rows // 2
    asm = Assembler(config)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=2)  # GEMM takes (0, 1) or (1, 2)
    asm.load(MemoryId.WGT, sram=0, dram=WGT // 16, columns=1)
    for piece in range(2):
        first = piece * half
        asm.load(
            MemoryId.INP, sram=first, dram=INP // 4 + first, columns=half, signals=Unit.COMPUTE
        )
    asm.gemm((0, 1), [Loop(rows, dst=1)], reset=True)
    asm.gemm((0, 1), [Loop(half, dst=1, src=1)], waits_for=Unit.LOAD, signals=Unit.STORE)
    asm.store(sram=0, dram=OUT // 4, columns=half, waits_for=Unit.COMPUTE)
    asm.gemm((1, 2), [Loop(half, dst=1, src=1)], waits_for=Unit.LOAD, signals=Unit.STORE)
    asm.store(sram=half, dram=OUT // 4 + half, columns=half, waits_for=Unit.COMPUTE)
    asm.finish()
    return asm.build()
