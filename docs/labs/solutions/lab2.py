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


# %% f
def needed_in_flight(rate, latency):
    return rate * latency


def little_rate(in_flight, latency, bus):
    return min(bus, in_flight / latency)


# %% g
def predicted_rate(beats, bursts, latency):
    return little_rate(8 * beats * bursts, latency + beats, bus_bytes)


# %% h
def rate_of_loads(size, latency, bus):
    return size / (latency + size / bus)


def least_size(share, latency, bus):
    # share * bus = size / (latency + size / bus)
    return share * bus * latency / (1 - share)
