"""The kernels of one robot: traced and compiled when first used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .definitions import Key, define
from .errors import InvalidArgumentError, SingularError
from .kernels import Kernel, trace
from .model import Model

UNIT_QUATERNION_TOLERANCE = 1e-6
"""Largest error of a quaternion's squared length; beyond it the rotation would not be one."""

SOLVERS = frozenset(
    {
        'mass_matrix_inverse',
        'forward_dynamics',
        'hybrid_dynamics',
        'forward_dynamics_derivatives',
    }
)
"""Kernels that divide by pivots of the mass matrix, which a massless body makes zero."""


@dataclass(frozen=True)
class KernelInfo:
    """How a kernel runs.

    Attributes:
        backend: 'llvm' or 'python'.
        operation_count: scalar operations of the trace.
        compile_seconds: time from the trace to a callable.
    """

    backend: str
    operation_count: int
    compile_seconds: float


class KernelSet:
    """Kernels of a model by key (name, *options); may be used from several threads."""

    def __init__(self, model: Model, backend: str) -> None:
        """Start without kernels.

        Args:
            model: whose kernels.
            backend: 'llvm', 'python' or 'auto'.
        """
        self.model = model
        self.backend = backend
        self._kernels: dict[Key, Kernel] = {}
        self._lock = threading.Lock()
        self._quaternions = tuple(
            slice(joint.q_indices[3], joint.q_indices[6] + 1)
            for joint in model.joints
            if joint.kind.name == 'floating'
        )

    def run(self, key: Key, *arrays: ArrayLike) -> Any:
        """Call a kernel, compiled now if it is the first time.

        Raises:
            InvalidArgumentError: wrong shape, not finite, or a quaternion not of unit length.
            SingularError: a solver met a joint that moves nothing with mass or inertia.
        """
        kernel = self._kernels.get(key) or self._compile(key)
        if self._quaternions:
            self._check_quaternions(kernel, arrays)
        if key[0] in SOLVERS:
            return _finite(kernel, arrays)
        return kernel.call(*arrays)

    def shortcut(self, key: Key, slow_path: Callable[..., Any]) -> Callable[..., Any] | None:
        """The kernel as a builtin without Python around it, where no check would be lost.

        Args:
            key: of a kernel that has been run.
            slow_path: called with whatever the builtin does not take itself.
        """
        kernel = self._kernels[key]
        if self._quaternions or key[0] in SOLVERS or kernel.backend == 'python':
            return None
        return kernel.bind(slow_path)

    def info(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        return {
            f'{key[0]}({", ".join(key[1:])})': KernelInfo(
                kernel.backend, kernel.operation_count, kernel.compile_seconds
            )
            for key, kernel in sorted(self._kernels.items())
        }

    def _compile(self, key: Key) -> Kernel:
        with self._lock:
            if key not in self._kernels:
                definition = define(self.model, key)
                description = f'{self.model.name}: {" ".join(key)}'
                traced = trace(definition.function, definition.inputs, key[0], description)
                self._kernels[key] = Kernel(traced, self.backend)
            return self._kernels[key]

    def _check_quaternions(self, kernel: Kernel, arrays: Sequence[ArrayLike]) -> None:
        for variable, array in zip(kernel.trace.inputs, arrays, strict=True):
            if not variable.name.startswith('q'):
                continue
            q = np.asarray(array, dtype=np.float64)
            if q.shape[-1:] != (self.model.nq,):
                continue  # the kernel says what shape is expected
            for part in self._quaternions:
                squared = np.square(q[..., part]).sum(axis=-1)
                if (np.abs(squared - 1.0) > UNIT_QUATERNION_TOLERANCE).any():
                    length = float(np.sqrt(np.max(squared)))
                    raise InvalidArgumentError(
                        variable.name,
                        f'quaternion of length {length:.6g}',
                        'a unit quaternion (x, y, z, w)',
                    )


def _finite(kernel: Kernel, arrays: Sequence[ArrayLike]) -> Any:
    """The result of a solver."""
    try:
        result = kernel.call(*arrays)
    except ArithmeticError:
        result = np.array(np.nan)
    if not all(np.isfinite(x).all() for x in (result if type(result) is tuple else (result,))):
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return result
