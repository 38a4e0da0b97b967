# %% a
def front(points):
    best, kept = float("inf"), []
    for cycles, area in sorted(set(points)):
        if area < best:
            best = area
            kept.append((cycles, area))
    return kept


# %% b
def saved(**changes):
    return 1 - cycles_of(tandem.Accelerator("small8", **changes)) / small8_cycles


# %% c
def own_front(points):
    pairs = zip(points["cycles"].tolist(), points["area"].tolist(), strict=True)
    return front([pair for pair in pairs if pair[0] == pair[0]])  # NaN is not itself


# %% d
def choose(found, limit):
    rows = zip(found.front["cycles"], found.front["area"], found.front_machines, strict=True)
    fitting = [(cycles, machine) for cycles, area, machine in rows if area <= limit]
    return min(fitting, key=lambda pair: pair[0])[1] if fitting else None


# %% e
def used(cycles, machine):
    return float(model.macs / (cycles * machine.macs))
