"""What Tandem needs on a computer: what is there, what is missing, and what to do.

Each check is made with the standard library alone, or says which package it lacks, so that an
incomplete installation can be examined too.
"""
