"""From real numbers to integers: calibration, and networks of integers that stand for real ones."""
