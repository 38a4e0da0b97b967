# %% a
def quantise(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)


def dequantise(q, scale):
    return q.astype(np.float32) * np.float32(scale)


# %% b
def sqnr(x, y):
    return 10 * np.log10(np.sum(np.square(x)) / np.sum(np.square(x - y)))


# %% c
def best_scale(x, scales):
    return max(scales, key=lambda scale: sqnr(x, dequantise(quantise(x, scale), scale)))


# %% d
def multiplier(factor):
    shift = 0
    while factor * 2 ** (shift + 1) < (1 << 16) - 0.5:
        shift += 1
    return round(factor * 2**shift), shift


def requantise(total, m, shift):
    return (total * m + (1 << shift >> 1)) >> shift


# %% e
def accuracy(scores, labels):
    return float((np.argmax(scores, axis=1) == labels).mean())


# %% f
def diagnose(table):
    known = [row for row in table if row["own_sqnr"] is not None]
    worst = min(known, key=lambda row: row["own_sqnr"])
    return worst["name"], "clipping" if worst["clipped"] > 0.01 else "rounding"


# %% g
def equalising(first, second):
    before, behind = np.abs(first).max((1, 2, 3)), np.abs(second).max((0, 2, 3))
    return np.sqrt(behind / before)
