"""Schedule templates of CPUs."""
