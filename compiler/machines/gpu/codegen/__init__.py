"""Launches as text for a device's own compiler."""
