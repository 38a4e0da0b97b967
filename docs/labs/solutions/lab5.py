# %% a
def best_so_far(costs):
    return [min(costs[: count + 1]) for count in range(len(costs))]


# %% b
def trials_needed(p, q):
    from math import ceil, log

    return ceil(log(1 - q) / log(1 - p))


# %% c
def compare():
    return {
        explorer: [tune(explorer, 12, seed)["best"] for seed in range(3)]
        for explorer in ("random", "xgboost")
    }


# %% d
def exact(bounds, measure):
    least, count = float("inf"), 0
    for choice in sorted(range(len(bounds)), key=bounds.__getitem__):
        if bounds[choice] >= least:
            break
        least, count = min(least, measure(choice)), count + 1
    return least, count


# %% e
def worst_gap(found, optimum):
    worst = max(best for bests in found.values() for best in bests)
    return 100 * (worst - optimum) / optimum
