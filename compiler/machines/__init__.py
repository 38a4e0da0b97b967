"""The machines that Tandem compiles for, each a folder: what it does, its code, its target."""
