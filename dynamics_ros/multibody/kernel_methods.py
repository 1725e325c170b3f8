# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot that are kernels, and the builtins that take their place once compiled."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, MethodType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import FixedAttributeError, InvalidArgumentError
from dynamics_ros.kernels import Kernel, NamedCalls
from dynamics_ros.kernels.cpython.entry_point import plain_signature
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.kernels.process.forks import FreshLock
from dynamics_ros.model import Model

from .definitions import DEFINITIONS, Key, define
from .definitions.definition import DEFAULT_REFERENCE
from .kernel_set import KernelInfo, KernelSet
from .parameters import explicit

Array = NDArray[np.float64]

Arrays = Sequence[Array]
"""Of a method with several results: one for each."""

_Method = TypeVar('_Method', bound=Callable[..., Any])

_METHODS: set[Callable[..., Any]] = set()
"""Every function that `kernel_method` has marked."""

_OUT = """``out=`` is an array to fill and return, or a tuple of them for several results: float64,
of the shape of the result. After an error it holds nothing to rely on."""


def kernel_method(method: _Method) -> _Method:
    """Mark a method of `KernelMethods` as one that the kernel of its name may replace.

    The builtin that takes its place has no annotations, so its signature shows none either. A
    method takes ``out``, which it hands to ``_run``; its documentation ends with what that is.
    """
    method.__doc__ = f'{inspect.cleandoc(method.__doc__ or "")}\n\n{_OUT}'
    method.__signature__ = plain_signature(method)  # type: ignore[attr-defined]
    _METHODS.add(method)
    return method


class KernelMethods:
    """A model and its kernels, each compiled when a method first needs it.

    Attributes:
        model: the Model whose kernels they are.
    """

    _FIXED: ClassVar[frozenset[str]] = frozenset({'model', 'nq', 'nv'})
    """Attributes that cannot be set once more: kernels and other attributes agree with them."""

    def __init__(self, model: Model, backend: str) -> None:
        """Start without kernels.

        Args:
            model: as built by ``dynamics_ros.model.build_model``.
            backend: 'llvm', 'python', or 'auto' for LLVM where llvmlite is there.

        Raises:
            InvalidArgumentError: an unknown back end.
        """
        self.model = model
        self.nq = model.nq
        self.nv = model.nv
        self._use(KernelSet(model, backend))
        self._shortcuts: dict[str, Callable[..., Any]] = {}
        self._named: dict[str, NamedCalls] = {}
        self._shortened: set[Key] = set()
        self._naming = FreshLock()
        self._twin: Any = None
        self._twin_of: Callable[[], Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse_change_of(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change_of(name)
        super().__delattr__(name)

    def _refuse_change_of(self, name: str) -> None:
        if name in self._FIXED and name in self.__dict__:
            makers = 'with_payload, with_gravity, with_locked, with_tool and without'
            raise FixedAttributeError(name, f'{makers} make another robot')

    def _use(self, kernels: KernelSet) -> None:
        """Take another set of kernels of the same model; before the first use of any."""
        self._kernel_set = kernels
        self._calls = kernels.calls
        self._parametric: dict[str, KernelSet] = {}

    @property
    def backend(self) -> str:
        """The back end that was asked for: 'llvm', 'python' or 'auto'."""
        return self._kernel_set.backend

    @property
    def kernels(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        return self._kernel_set.info()

    def has_kernels(self, names: Iterable[str]) -> bool:
        """Whether all of these, named as in ``kernels``, have been compiled so far."""
        return self._kernel_set.names.issuperset(names)

    def kernel(self, name: str, *options: str, parameters: str = '') -> Kernel:
        """The compiled function of a name, for callers that keep their own arrays.

        Args:
            name, options: such as 'inverse_dynamics', or 'jacobian', a frame and a reference.
            parameters: what is one more input at the end, so that the kernel is compiled once for
                all numbers; the rest of the robot is constant. 'inertias' are the inertial
                parameters of all bodies (bodies, 10) in the order of ``regressor``, masses above
                zero. 'gravity' is that (3) [m/s^2] in the root frame. 'placements' (bodies, 6) are
                by how much each joint is elsewhere than in the description, in the axes of its
                frame: a translation [m], then a rotation vector [rad].
        """
        if not parameters:
            return self._kernel_set.kernel((name, *options))
        inputs = explicit(parameters)
        kernels = self._parametric.get(parameters)
        if kernels is None:
            made = KernelSet(self.model, self._kernel_set.backend, inputs)
            kernels = self._parametric.setdefault(parameters, made)
        return kernels.kernel((name, *options))

    def _run(self, key: Key, *arrays: ArrayLike, out: Any = None) -> Any:
        """What the kernel of a key makes of its inputs; compiles it the first time.

        Symbols among the inputs make symbols, so that a function that calls methods can be traced.

        Args:
            key: of the kernel.
            arrays: its inputs.
            out: as for ``Kernel.__call__``.

        Raises:
            InvalidArgumentError: ``out`` for symbols, besides what the kernel refuses.
        """
        if any(map(is_symbolic, arrays)):
            if out is not None:
                raise InvalidArgumentError('out', 'an array for traced values', 'None')
            return _of_symbols(self.model, key, arrays)
        try:
            call = self._calls.get(key) or self._kernel_set.call(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be a key: the definition says which.
            define(self.model, key)
            raise
        result = call(*arrays) if out is None else call(*arrays, out=out)
        if key not in self._shortened:
            self._shorten(key)
        return result

    def _shorten(self, key: Key) -> None:
        """Let such a call of the method be one of the machine code, unless it is overridden."""
        owner = self if self._twin_of is None else self._twin_of()
        kernel = self._kernel_set.kernel(key)
        if owner is None or not kernel.ready:
            return
        self._shortened.add(key)
        name = key[0]
        function = getattr(type(self), name, None)
        if function not in _METHODS or not isinstance(kernel.call, BuiltinFunctionType):
            return
        shortcut = owner._shortcut(key, kernel, MethodType(function, owner._slow_path()))
        if shortcut is not None and name not in owner.__dict__:
            owner.__dict__[name] = owner._shortcuts[name] = shortcut

    def _shortcut(
        self, key: Key, kernel: Kernel, method: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """A builtin in the place of a bound method that goes straight to the machine code.

        Args:
            key, kernel: of a kernel with an entry point.
            method: the method itself, for whatever is not one array an input, and for names
                other than those of the keys that this function was called with.

        Returns:
            None where there is none.
        """
        if len(key) == 1:
            return kernel.bind(method, method) if _takes_inputs(method, kernel) else None
        name, *names = key
        if not DEFINITIONS[name].names_a_frame:
            return None
        arrays = len(kernel.trace.arguments)
        with self._naming:
            calls = self._named.get(name)
            if calls is None:
                calls = self._named[name] = NamedCalls(method)
            calls.add(arrays, tuple(names), kernel.call)
            if names[1:] == [DEFAULT_REFERENCE]:
                calls.add(arrays, (names[0],), kernel.call)
        return calls.function

    def _slow_path(self) -> Any:
        """The same without builtins, whose methods these call.

        So builtins do not refer to the object that refers to them: one that nobody uses any more
        goes at once, without a collection of cycles.
        """
        if self._twin is None:
            twin = object.__new__(type(self))
            own = {name: x for name, x in vars(self).items() if name not in self._shortcuts}
            twin.__dict__.update(own, _shortcuts={}, _named={}, _twin_of=weakref.ref(self))
            self._twin = twin
        return self._twin


def _takes_inputs(method: Callable[..., Any], kernel: Kernel) -> bool:
    """Whether a method may be called with the arguments of a kernel and nothing else."""
    parameters = list(inspect.signature(method).parameters.values())
    inputs = [x.name for x in kernel.trace.arguments]
    rest = parameters[len(inputs) :]
    same = [x.name for x in parameters[: len(inputs)]] == inputs
    return same and all(x.default is not x.empty for x in rest)


def _of_symbols(model: Model, key: Key, arrays: Sequence[Any]) -> Any:
    """What a kernel computes, as expressions of its inputs instead of numbers.

    Args:
        model: of the robot, all of it constant.
        key: of the kernel.
        arrays: its inputs, one state: arrays or nested lists of numbers and traced values.

    Returns:
        An array of traced values, or a tuple of them.

    Raises:
        InvalidArgumentError: an input of another shape.
        UnknownFrameError: as ``define`` raises it.
    """
    formula = define(model, key)
    inputs = []
    for (name, shape), value in zip(formula.inputs.items(), arrays, strict=True):
        expected = (shape,) if isinstance(shape, int) else tuple(shape)
        array = np.array(value, dtype=object)
        if array.shape != expected:
            problem = f'traced values of shape {array.shape}'
            raise InvalidArgumentError(name, problem, f'shape {expected}, of one state')
        inputs.append(array.tolist())
    result = formula.function(*inputs)
    if isinstance(result, Mapping):
        return tuple(symbols(x) for x in result.values())
    return symbols(result)
