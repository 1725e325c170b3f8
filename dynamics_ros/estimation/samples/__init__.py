"""Joint states in time: of which moment they are, which are late, which are outliers.

May import ``robot`` and what is below it.
"""
