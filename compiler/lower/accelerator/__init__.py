"""From a schedule's program to the accelerator's instruction stream."""
