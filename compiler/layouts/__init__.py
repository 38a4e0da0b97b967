"""Layouts: how a tensor's elements are stored, conversions between layouts, and equal bytes."""
