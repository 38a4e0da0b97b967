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
def relu_instruction():
    return immediate(machine, AluOp.MAX, 0)
