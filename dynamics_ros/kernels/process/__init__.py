"""What compiled code shares with the process: forks, lifetimes, the queue of the compiler.

Imports nothing of ours.
"""
