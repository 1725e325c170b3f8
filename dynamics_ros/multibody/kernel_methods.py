# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot methods that are kernels, and the builtins that replace them once compiled."""

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
"""One array for each result of a method."""

_Method = TypeVar('_Method', bound=Callable[..., Any])

_METHODS: set[Callable[..., Any]] = set()
"""Functions marked by `kernel_method`."""

_OUT = """``out=`` is an array to fill and return, or a tuple of them for several results: float64,
of the shape of the result. After an error it holds nothing to rely on."""


def kernel_method(method: _Method) -> _Method:
    """Mark a method of `KernelMethods` that the kernel of its name may replace.

    The replacing builtin has no annotations, so its signature shows none either. A method takes
    ``out`` and passes it to ``_run``; its docstring ends with the description of ``out``.
    """
    method.__doc__ = f'{inspect.cleandoc(method.__doc__ or "")}\n\n{_OUT}'
    method.__signature__ = plain_signature(method)  # type: ignore[attr-defined]
    _METHODS.add(method)
    return method


class KernelMethods:
    """Model and its kernels, each compiled when a method first needs it.

    Attributes:
        model: the Model.
        kept: what other rooms derive from the robot and keep with it, by name.
    """

    _FIXED: ClassVar[frozenset[str]] = frozenset({'model', 'nq', 'nv'})
    """Attributes that cannot be reassigned, because kernels and other attributes depend on them."""

    def __init__(self, model: Model, backend: str) -> None:
        """Create the object without kernels.

        Args:
            model: as built by ``dynamics_ros.model.build_model``.
            backend: 'llvm', 'python', or 'auto' for LLVM if llvmlite is installed.

        Raises:
            InvalidArgumentError: the backend is unknown.
        """
        self.model = model
        self.nq = model.nq
        self.nv = model.nv
        self.kept: dict[str, Any] = {}
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
        """Replace the kernel set by another one of the same model, before its first use."""
        self._kernel_set = kernels
        self._calls = kernels.calls
        self._parametric: dict[str, KernelSet] = {}

    @property
    def backend(self) -> str:
        """The requested backend: 'llvm', 'python' or 'auto'."""
        return self._kernel_set.backend

    @property
    def kernels(self) -> dict[str, KernelInfo]:
        """Information about the kernels compiled so far, by 'name(options)'."""
        return self._kernel_set.info()

    def has_kernels(self, names: Iterable[str]) -> bool:
        """Return whether all named kernels, as in ``kernels``, have been compiled."""
        return self._kernel_set.names.issuperset(names)

    def kernel(self, name: str, *options: str, parameters: str = '') -> Kernel:
        """Return a compiled function by name, for callers that keep their own arrays.

        Args:
            name, options: such as 'inverse_dynamics', or 'jacobian', a frame and a reference.
            parameters: makes these values one more input at the end, so that the kernel is compiled
                once for all values; everything else of the robot is constant. 'inertias': the
                inertial
                parameters of all bodies (bodies, 10) in the order of ``regressor``, masses above
                zero. 'gravity': gravity (3) [m/s^2] in the root frame. 'placements': (bodies, 6),
                the
                offset of each joint from the description, in the axes of its frame: a translation
                    [m],
                then a rotation vector [rad].
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
        """Run the kernel of a key; compiles it the first time.

        Symbolic inputs give symbolic results, so that a function that calls methods can be traced.

        Args:
            key: key of the kernel.
            arrays: its inputs.
            out: as for ``Kernel.__call__``.

        Raises:
            InvalidArgumentError: ``out`` with symbols, or inputs that the kernel refuses.
        """
        if any(map(is_symbolic, arrays)):
            if out is not None:
                raise InvalidArgumentError('out', 'an array for traced values', 'None')
            return _of_symbols(self.model, key, arrays)
        try:
            call = self._calls.get(key) or self._kernel_set.call(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be part of a key: the definition raises the error.
            define(self.model, key)
            raise
        result = call(*arrays) if out is None else call(*arrays, out=out)
        if key not in self._shortened:
            self._shorten(key)
        return result

    def _shorten(self, key: Key) -> None:
        """Route such calls of the method directly to machine code, unless it is overridden."""
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
        """Return a builtin that replaces a bound method and calls machine code directly.

        Args:
            key, kernel: a kernel with an entry point.
            method: the bound method, for arguments other than one array per input, and for names
                of keys that were not added.

        Returns:
            None if no builtin can be made.
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
        """Copy of this object without builtins, whose methods the builtins call.

        Builtins thus do not refer to the object that refers to them: an unused object is freed at
        once,
        without cyclic garbage collection.
        """
        if self._twin is None:
            twin = object.__new__(type(self))
            own = {name: x for name, x in vars(self).items() if name not in self._shortcuts}
            twin.__dict__.update(own, _shortcuts={}, _named={}, _twin_of=weakref.ref(self))
            self._twin = twin
        return self._twin


def _takes_inputs(method: Callable[..., Any], kernel: Kernel) -> bool:
    """Return whether a method takes exactly the arguments of a kernel."""
    parameters = list(inspect.signature(method).parameters.values())
    inputs = [x.name for x in kernel.trace.arguments]
    rest = parameters[len(inputs) :]
    same = [x.name for x in parameters[: len(inputs)]] == inputs
    return same and all(x.default is not x.empty for x in rest)


def _of_symbols(model: Model, key: Key, arrays: Sequence[Any]) -> Any:
    """Return the results of a kernel as expressions of its inputs.

    Args:
        model: the robot's model, constant.
        key: key of the kernel.
        arrays: its inputs, one state: arrays or nested lists of numbers and traced values.

    Returns:
        An array of traced values, or a tuple of them.

    Raises:
        InvalidArgumentError: an input has another shape.
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
