"""`tandem search`: machines and schedules searched together."""
