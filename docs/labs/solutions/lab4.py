# %% a
def make_product():
    k = te.reduce_axis(N, "k")
    return te.compute(
        (N, N), lambda i, j: te.sum(te.cast(a[i, k], INT32) * te.cast(b[k, j], INT32), k), "c"
    )


# %% b
def make_tiled(schedule):
    return schedule.tile("c", ("i", "j"), (16, 16), ("io", "jo", "ii", "ji")).vectorize(
        "c", "ji", 16
    )


# %% c
def fetched(rows, columns):
    # A tile of a comes once; all of b passes for each row of tiles.
    return N * N + N * N * (N // rows)


# %% d
def best_tile(size):
    sizes = [n for n in range(1, N + 1) if N % n == 0]
    tiles = [(rows, columns) for rows in sizes for columns in sizes]
    fitting = [tile for tile in tiles if (tile[0] + tile[1]) * N + 4 * tile[0] * tile[1] <= size]
    return min(fitting, key=lambda tile: (fetched(*tile), tile[0] * tile[1]))


# %% e
def emit_step(asm, number, total, rows, blocks, inp, wgt):
    free = Unit.COMPUTE if number else ()
    asm.load(MemoryId.INP, sram=0, dram=inp, columns=rows, waits_for=free)
    asm.load(MemoryId.WGT, sram=0, dram=wgt, columns=blocks, signals=Unit.COMPUTE)
    asm.gemm(
        (0, 1),
        [Loop(blocks, dst=rows, wgt=1), Loop(rows, dst=1, src=1)],
        waits_for=Unit.LOAD,
        signals=Unit.LOAD if number + 1 < total else (),
    )


# %% f
def loaded(rows, columns):
    # a passes once for each column of tiles, b once for each row of tiles.
    return SIZE * SIZE * (SIZE // columns), SIZE * SIZE * (SIZE // rows)


# %% g
def least_traffic(m, n, k, space):
    return 2 * m * n * k / space**0.5


def space_of(rows, columns):
    return rows * columns + 8 * rows + 8 * columns


# %% h
def emit_overlapped_step(asm, number, total, rows, blocks, inp, wgt):
    half = number % 2
    free = Unit.COMPUTE if number >= 2 else ()  # each half is first loaded without waiting
    asm.load(MemoryId.INP, sram=64 * half, dram=inp, columns=rows, waits_for=free)
    asm.load(MemoryId.WGT, sram=32 * half, dram=wgt, columns=blocks, signals=Unit.COMPUTE)
    asm.gemm(
        (half, half + 1),
        [Loop(blocks, dst=rows, wgt=1), Loop(rows, dst=1, src=1)],
        waits_for=Unit.LOAD,
        signals=Unit.LOAD if number + 2 < total else (),
    )


# %% i
def relu_instruction():
    return immediate(machine, AluOp.MAX, 0)
