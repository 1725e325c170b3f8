"""Messages to arrays and back, as objects and as bytes; names of topics. Knows no node.

May import ``estimation`` and what is below it.
"""
