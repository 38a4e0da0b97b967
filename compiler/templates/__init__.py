"""Schedule templates: how machines do operators, from patterns in graphs to schedules."""
