"""`tandem run`: a network from its inputs to its outputs."""
