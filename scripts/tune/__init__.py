"""`tandem tune`: finds schedules for the layers of a network, on exact time."""
