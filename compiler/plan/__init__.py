"""How graphs are done on machines: patterns, templates, targets, and one planner for all."""
