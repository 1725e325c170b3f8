"""Scalar functions traced once and run as machine code. Knows nothing of robots."""

from dynamics_ros.kernels.expression import Condition, Expression, Scalar, select
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.trace import Trace, Variable, trace

__all__ = ['Condition', 'Expression', 'Kernel', 'Scalar', 'Trace', 'Variable', 'select', 'trace']
