"""The search for machines: spaces, proposals, points and fronts; measurements are handed in."""
