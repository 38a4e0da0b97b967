"""The command line: one file a command, each thin; the logic lives in the floors below."""
