"""The accelerator's schedule templates and its cost model."""
