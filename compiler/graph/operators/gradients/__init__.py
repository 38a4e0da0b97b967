"""Rules of operators' gradients, a file for each kind of operators: where numbers tie, or a
function has a corner, PyTorch's choice."""
