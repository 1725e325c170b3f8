"""Methods of a robot that are kernels, and the builtins that take their place once compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.cpython.entry_point import plain_signature
from dynamics_ros.model import Model

from .definitions import Key, define
from .kernel_set import KernelInfo, KernelSet

Array = NDArray[np.float64]

_Method = TypeVar('_Method', bound=Callable[..., Any])

_METHODS: set[Callable[..., Any]] = set()
"""Every function that `kernel_method` has marked."""


def kernel_method(method: _Method) -> _Method:
    """Mark a method of `KernelMethods` as one that the kernel of its name may replace.

    The builtin that takes its place has no annotations, so its signature shows none either.
    """
    method.__signature__ = plain_signature(method)  # type: ignore[attr-defined]
    _METHODS.add(method)
    return method


class KernelMethods:
    """A model and its kernels, each compiled when a method first needs it.

    Attributes:
        model: the Model whose kernels they are.
    """

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
        self._kernel_set = KernelSet(model, backend)
        self._calls = self._kernel_set.calls
        self._shortcuts: dict[str, Callable[..., Any]] = {}

    @property
    def kernels(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        return self._kernel_set.info()

    def has_kernels(self, names: Iterable[str]) -> bool:
        """Whether all of these, named as in ``kernels``, have been compiled so far."""
        return self._kernel_set.names.issuperset(names)

    def kernel(self, name: str, *options: str) -> Kernel:
        """The compiled function of a name, for callers that keep their own arrays."""
        return self._kernel_set.kernel((name, *options))

    def _run(self, key: Key, *arrays: ArrayLike) -> Any:
        """What the kernel of a key makes of its inputs; compiles it the first time."""
        try:
            call = self._calls.get(key) or self._kernel_set.call(key)
        except TypeError:
            # A frame or reference that cannot be a key: the definition says which.
            define(self.model, key)
            raise
        result = call(*arrays)
        if key not in self._kernel_set.shortened:
            self._shorten(key)
        return result

    def _shorten(self, key: Key) -> None:
        """Let such a call of the method be one of the machine code, unless it is overridden."""
        name = key[0]
        function = getattr(type(self), name, None)
        if function not in _METHODS:
            self._kernel_set.shortened.add(key)
            return
        shortcut = self._kernel_set.shortcut(key, MethodType(function, self))
        if shortcut is not None and name not in self.__dict__:
            self.__dict__[name] = self._shortcuts[name] = shortcut
