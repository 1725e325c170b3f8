"""Parameters as a node declares and checks them, and those that it does not have.

May import ``nodes`` and what is below it.
"""
