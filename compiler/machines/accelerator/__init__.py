"""The accelerator: tensor instructions, templates, lowering to instruction streams, its target."""
