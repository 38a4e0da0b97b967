"""The `cycle` engine: the machine's exact time, from event to event, without RTL."""
