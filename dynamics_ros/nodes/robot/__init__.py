"""The robot in force, its state and diagnostics, and what the components on it share.

Imports ``app``, ``parameters``, ``input`` and ``output``.
"""
