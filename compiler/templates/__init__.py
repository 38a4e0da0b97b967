"""Schedule templates: operators on machines, from patterns in graphs to schedules."""
