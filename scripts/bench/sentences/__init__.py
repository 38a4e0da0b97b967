"""A trained sentence model (all-MiniLM-L6-v2) from its file of tensors, for the loss of formats."""
