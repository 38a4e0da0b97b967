"""Charts of convolutions that were measured alone."""
