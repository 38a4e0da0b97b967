"""Importers of models in other formats."""
