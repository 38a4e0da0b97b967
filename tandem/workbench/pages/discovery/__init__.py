"""The page of a search for operations."""
