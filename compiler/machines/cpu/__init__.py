"""Processors: native code through LLVM, schedules, templates, their target."""
