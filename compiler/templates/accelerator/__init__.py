"""The accelerator as a target: its schedule templates, and what its instructions cost."""
