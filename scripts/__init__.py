"""The command line: one thin module per command; the logic is in the packages that they import."""
