"""The search for schedules: workloads, explorers, cost models, records."""
