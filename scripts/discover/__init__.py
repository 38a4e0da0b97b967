"""`tandem discover`."""
