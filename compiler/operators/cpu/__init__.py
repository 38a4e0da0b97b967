"""How operators run on the CPU: a schedule for each, and the layouts that it asks for."""
