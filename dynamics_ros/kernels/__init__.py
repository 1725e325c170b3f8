"""Scalar functions traced once and run as machine code. Knows nothing of robots."""

from dynamics_ros.kernels.derivative import derivative
from dynamics_ros.kernels.differentiate import gradient, jacobian
from dynamics_ros.kernels.expression import Condition, Expression, Scalar, select
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.named_calls import NamedCalls
from dynamics_ros.kernels.requirement import Requirement
from dynamics_ros.kernels.threads import set_thread_count, thread_count
from dynamics_ros.kernels.trace import Trace, Variable, trace

__all__ = [
    'Condition',
    'Expression',
    'Kernel',
    'NamedCalls',
    'Requirement',
    'Scalar',
    'Trace',
    'Variable',
    'derivative',
    'gradient',
    'jacobian',
    'select',
    'set_thread_count',
    'thread_count',
    'trace',
]
