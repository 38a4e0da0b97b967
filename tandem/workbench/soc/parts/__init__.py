"""The hardware of a system on chip, as modules of LiteX; `tandem.litex` is their front door."""
