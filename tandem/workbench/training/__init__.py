"""Training: models whose weights are parameters, losses, schedules, and the loop with checkpoints."""
