"""The compiler: from a model to an artifact that the runtime can load."""
