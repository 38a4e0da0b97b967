"""Inputs of networks: read from files and pictures, or drawn at random."""

from tandem.runtime.inputs.files import read_archive, read_arrays, read_inputs, read_samples
from tandem.runtime.inputs.pictures import PixelNormalisation
from tandem.runtime.inputs.random_inputs import random_inputs

__all__ = [
    "PixelNormalisation",
    "random_inputs",
    "read_archive",
    "read_arrays",
    "read_inputs",
    "read_samples",
]
