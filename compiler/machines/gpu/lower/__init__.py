"""From a schedule's program to launches: what each thread of a grid does, with barriers."""
