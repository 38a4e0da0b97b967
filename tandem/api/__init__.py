"""The front door: the values and functions that `import tandem` offers, each loaded when used."""
