"""The accelerator in Amaranth. Only this package and the RTL engines of `sim` import Amaranth."""
