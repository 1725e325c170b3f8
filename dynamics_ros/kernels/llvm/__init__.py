"""A trace as LLVM IR, for one state or for a batch of states, and the compiler of that.

May import ``kernels.graph`` and ``kernels.process``.
"""
