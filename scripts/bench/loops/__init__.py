"""Inner loops of layers in assembly, and how fast LLVM's models of processors run them."""
