# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
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

LAW = 1e-9
"""Relative: a law that ties two algorithms together through the mass matrix of a random tree. They
differ by rounding times its condition number, up to some 1e5."""

DIFFERENCE_STEP = 1e-5
"""Step [s] of a central difference: its error is the square of the step times a third derivative,
and rounding divided by the step."""

DIFFERENCE = 1e-6
"""Relative: what a central difference with that step may be off on a robot whose velocities and
accelerations are of order one to a hundred."""

PRINTED = 6e-4
"""Absolute: numbers that the lecture notes print with three decimals, the last of them rounded."""

AGAINST_MUJOCO = 1e-10
"""Relative: MuJoCo diagonalizes inertias and keeps frames as quaternions, which costs a few digits
that the recursions themselves do not."""
