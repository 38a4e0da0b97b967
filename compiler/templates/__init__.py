"""Schedule templates: from a pattern of graph operators to a schedule for a machine."""
