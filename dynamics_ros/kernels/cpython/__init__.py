"""How machine code becomes a function of this Python: its objects' layout, entry points, builtins.

May import ``kernels.graph``, ``kernels.llvm`` and ``kernels.process``.
"""
