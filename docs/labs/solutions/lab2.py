# %% a
def products(height, width, channels_in, channels_out, window, stride, pad):
    rows = (height + 2 * pad - window) // stride + 1
    columns = (width + 2 * pad - window) // stride + 1
    return rows * columns * channels_out * channels_in * window**2


# %% b
def least_bytes(height, width, channels_in, channels_out, window, stride, pad):
    rows = (height + 2 * pad - window) // stride + 1
    columns = (width + 2 * pad - window) // stride + 1
    inputs = height * width * channels_in
    weights = channels_out * channels_in * window**2
    return inputs + weights + rows * columns * channels_out + 4 * channels_out


# %% c
def bound(shape, macs, bus):
    array, traffic = products(*shape) / macs, least_bytes(*shape) / bus
    return (array, "array") if array >= traffic else (traffic, "bus")


# %% d
def growth(first, second):
    latencies = swept["latency"].tolist()
    before, after = latencies.index(first), latencies.index(second)
    return tuple(
        float(swept[name][after] / swept[name][before])
        for name in ("cycles_without", "cycles_with")
    )


# %% e
def hidden_up_to(tile_cycles, load_cycles):
    return max(0, tile_cycles - load_cycles)
