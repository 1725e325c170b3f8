"""The kernels of one robot: traced and compiled when first used."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, NamedCalls, Requirement, trace
from dynamics_ros.kernels.kernel import BACKENDS
from dynamics_ros.kernels.process.forks import FreshLock
from dynamics_ros.model import Model

from .definitions import Key, define

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

NAMING = frozenset(
    {
        'forward_kinematics',
        'frame_velocity',
        'frame_acceleration',
        'jacobian',
        'jacobian_derivative',
        'jacobian_hessian',
    }
)
"""Kernels whose options a method takes as its last arguments: a frame, then a reference."""

DEFAULT_REFERENCE = 'local_world_aligned'
"""What these methods take where no reference is given."""


@dataclass(frozen=True)
class KernelInfo:
    """How a kernel runs.

    Attributes:
        backend: 'llvm' or 'python'; 'python' too while the machine code is being made.
        operation_count: scalar operations of the trace.
        compile_seconds: time from the trace to a callable.
    """

    backend: str
    operation_count: int
    compile_seconds: float


class KernelSet:
    """Kernels of a model by key (name, *options); may be used from several threads.

    What a kernel requires of its inputs, finite numbers and unit quaternions, is checked by the
    kernel itself, in machine code.

    Attributes:
        model: whose kernels.
        backend: 'llvm', 'python' or 'auto'.
        names: of the kernels that are there, as ``info`` has them.
        calls: the kernels that are compiled for good, as functions of their inputs.
        shortened: the keys for which all that `shortcut` can do is done.
    """

    def __init__(self, model: Model, backend: str) -> None:
        """Start without kernels.

        Raises:
            InvalidArgumentError: an unknown back end.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        self.model = model
        self.backend = backend
        self.calls: dict[Key, Callable[..., Any]] = {}
        self.shortened: set[Key] = set()
        self.names: set[str] = set()
        self._kernels: dict[Key, Kernel] = {}
        self._named: dict[str, NamedCalls] = {}
        self._lock = FreshLock()
        self._quaternions = tuple(
            slice(joint.q_indices[3], joint.q_indices[6] + 1)
            for joint in model.joints
            if joint.kind.name == 'floating'
        )

    def call(self, key: Key) -> Callable[..., Any]:
        """The kernel as a function of its inputs; kept in ``calls`` once it is final.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint that moves nothing with mass or inertia, whatever q is.
        """
        kernel = self.kernel(key)
        if kernel.ready:
            self.calls[key] = kernel.call
        return kernel.call

    def kernel(self, key: Key) -> Kernel:
        """The kernel itself, compiled now if it is the first time; raises as ``call`` does."""
        kernel = self._kernels.get(key)
        if kernel is not None:
            return kernel  # who needs this one does not wait while another is traced
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                kernel = self._kernels[key] = self._compile(key)
                self.names.add(_told(key))
            return kernel

    def shortcut(self, key: Key, method: Callable[..., Any]) -> Callable[..., Any] | None:
        """A builtin in the place of a bound method that goes straight to the machine code.

        Args:
            key: of a kernel that has been used.
            method: the method itself, for whatever is not one array an input, and for names
                other than those of the keys that this function was called with.

        Returns:
            None where there is none, or none yet.
        """
        kernel = self._kernels[key]
        if not kernel.ready:
            return None
        self.shortened.add(key)
        if not isinstance(kernel.call, BuiltinFunctionType):
            return None
        if len(key) == 1:
            return kernel.bind(method, method) if _takes_inputs(method, kernel) else None
        name, *names = key
        if name not in NAMING:
            return None
        arrays = len(kernel.trace.inputs)
        with self._lock:
            calls = self._named.get(name)
            if calls is None:
                calls = self._named[name] = NamedCalls(method)
            calls.add(arrays, tuple(names), kernel.call)
            if names[1:] == [DEFAULT_REFERENCE]:
                calls.add(arrays, (names[0],), kernel.call)
        return calls.function

    def info(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        # Without the lock, which is held while a kernel is traced: whoever asks should not wait.
        kernels = sorted(self._kernels.copy().items())
        return {
            _told(key): KernelInfo(kernel.backend, kernel.operation_count, kernel.compile_seconds)
            for key, kernel in kernels
        }

    def _compile(self, key: Key) -> Kernel:
        definition = define(self.model, key)
        traced = trace(
            definition.function,
            definition.inputs,
            key[0],
            f'{self.model.name}: {" ".join(key)}',
            requirements=partial(self._requirements, tuple(definition.inputs)),
            finite_results=_singular if key[0] in SOLVERS else None,
        )
        return Kernel(traced, self.backend)

    def _requirements(self, names: Sequence[str], *symbols: Any) -> Iterator[Requirement]:
        """Quaternions of the configurations among the inputs have unit length."""
        for name, symbol in zip(names, symbols, strict=True):
            if not name.startswith('q'):
                continue
            for part in self._quaternions:
                x, y, z, w = symbol[part]
                yield Requirement(
                    x * x + y * y + z * z + w * w,
                    1.0 - UNIT_QUATERNION_TOLERANCE,
                    1.0 + UNIT_QUATERNION_TOLERANCE,
                    partial(_no_unit_quaternion, name),
                )


def _takes_inputs(method: Callable[..., Any], kernel: Kernel) -> bool:
    """Whether a method may be called with the inputs of a kernel and nothing else."""
    parameters = list(inspect.signature(method).parameters.values())
    inputs = [x.name for x in kernel.trace.inputs]
    rest = parameters[len(inputs) :]
    same = [x.name for x in parameters[: len(inputs)]] == inputs
    return same and all(x.default is not x.empty for x in rest)


def _told(key: Key) -> str:
    """A key in one word, as users see it."""
    return f'{key[0]}({", ".join(key[1:])})'


def _no_unit_quaternion(name: str, squared: float) -> InvalidArgumentError:
    problem = f'quaternion of length {math.sqrt(squared):.6g}'
    return InvalidArgumentError(name, problem, 'a unit quaternion (x, y, z, w)')


def _singular() -> SingularError:
    return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
