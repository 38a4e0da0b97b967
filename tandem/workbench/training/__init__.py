"""Training: models with weights as parameters, losses, schedules, the loop and its checkpoints."""
