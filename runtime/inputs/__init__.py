"""Inputs of networks: read from files and pictures, or drawn at random."""

from runtime.inputs.files import read_arrays, read_inputs, read_samples
from runtime.inputs.pictures import PixelNormalisation
from runtime.inputs.random_inputs import random_inputs

__all__ = ["PixelNormalisation", "random_inputs", "read_arrays", "read_inputs", "read_samples"]
