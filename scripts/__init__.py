"""The command line: one module a command, each thin; the logic is in the packages below."""
