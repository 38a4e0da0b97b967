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
        explorer: [best_so_far(costs_of(explorer, 20, seed)) for seed in range(3)]
        for explorer in ("random", "genetic", "xgboost")
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


# %% f
def trials_to(curve, optimum, share):
    within = (count for count, cost in enumerate(curve, 1) if cost <= (1 + share) * optimum)
    return next(within, None)
