"""Every tolerance of the tests, with its reason."""

AGAINST_PINOCCHIO = 1e-9
"""Relative to the largest entry of the quantity: two double-precision recursions over the same
tree differ by rounding, some 1e-13 for 40 joints; the rest is margin for ill-conditioned robots."""

EXACT = 1e-12
"""Relative: identities between quantities that are each computed by short recursions."""

GROUP = 1e-14
"""Absolute: a few operations on numbers of order one."""

RATES = 1e-13
"""Absolute: a derivative that is computed exactly along a dozen operations on numbers of order
one; larger numbers and divisions by small ones scale it where they occur."""
