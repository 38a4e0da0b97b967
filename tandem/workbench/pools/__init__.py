"""Pools: processes of this machine, and workers of a cluster, that measure."""
