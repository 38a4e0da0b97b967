"""The search for accelerators, with networks compiled, timed, synthesised and tuned."""
