"""What compiled code shares with processes: forks, lifetimes, the compiler's queue, files on disk.

Imports nothing of ours.
"""
