"""The base that all floors stand on: files, processes, caches, compiled Python functions.

Nothing in it knows hardware, compilers or networks.
"""
