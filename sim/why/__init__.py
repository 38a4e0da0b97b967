"""Why a run took its time: what its cycles went to, and the critical path through its events.

`causes` says what compute did in each cycle, `critical_path` which chain of instructions, tokens
and transfers made the run as long as it was. Both read the event records of a run, of any engine
with time.
"""
