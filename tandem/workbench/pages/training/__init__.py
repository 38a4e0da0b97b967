"""The page of a training: its curves, and a row for each epoch."""
