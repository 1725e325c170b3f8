# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot methods that are kernels, and their external wrenches by frame name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.quantity import REFERENCES, WRENCH_INPUT, Key, define
from dynamics_ros.errors import FixedAttributeError, InvalidArgumentError
from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.kernels.kernel import method_of
from dynamics_ros.model import Model
from dynamics_ros.model.doubts import LOG
from dynamics_ros.model.hardened_xml import quoted
from dynamics_ros.multibody.kernel_set import KernelSet

Wrenches = Mapping[str, ArrayLike]

Array = NDArray[np.float64]

Frames = str | Sequence[str]
"""The name of a frame, or a list of names."""

Arrays = Sequence[Array]
"""One array for each result of a method."""

_Method = TypeVar('_Method', bound=Callable[..., Any])

MAKERS = 'with_payload, with_gravity, with_locked and with_tool make another robot'

_INTERNAL = {'has_kernels', 'shares_kernels_with'}
"""Methods for nodes, which ``dir`` does not list."""

_OUT = """``out=`` is an array to fill and return, or a tuple of them for several results: float64,
of the shape of the result. After an error it holds nothing to rely on."""


def kernel_method(method: _Method) -> _Method:
    """Return a method of `KernelMethods` that runs the kernel of its name, if that is compiled.

    Other calls, such as those with lists, symbols or wrenches, go to the given function, which
    calls ``_run``. It takes ``out`` and passes it on; its docstring ends with the description of
    ``out``.
    """
    method.__doc__ = f'{inspect.cleandoc(method.__doc__ or "")}\n\n{_OUT}'
    return method_of(method)


class KernelMethods:
    """Model and its kernels, each compiled when a method first needs it.

    Attributes:
        model: the Model.
    """

    _own: frozenset[str] = frozenset()
    """Attributes without those of a subclass. Public ones cannot be reassigned, because kernels and
    other attributes depend on them."""

    _complete = False
    """Whether attributes that no class declares are refused."""

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
        self._kept: dict[str, Any] = {'constraints': {}}  # derived by other rooms, by name
        self._use(KernelSet(model, backend))
        self._warned = False

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse_change_of(name)
        declared = getattr(type(self), name, None)
        if callable(declared) and not callable(value):
            raise FixedAttributeError(name, MAKERS, 'is a method')
        if self._complete and name not in self.__dict__ and not hasattr(type(self), name):
            instead = f'{MAKERS}; attributes of your own need a subclass'
            raise FixedAttributeError(name, instead, 'no attribute of a robot')
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change_of(name)
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted(x for x in super().__dir__() if x[0] != '_' and x not in _INTERNAL)

    def _refuse_change_of(self, name: str) -> None:
        if name in self._own and name[0] != '_':
            raise FixedAttributeError(name, MAKERS)

    def _use(self, kernels: KernelSet) -> None:
        """Replace the kernel set by another one of the same model, before its first use."""
        self._kernel_set = kernels
        self._direct_calls = kernels.direct_calls

    @property
    def backend(self) -> str:
        """The requested backend: 'llvm', 'python' or 'auto'."""
        return self._kernel_set.backend

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels compiled so far, by 'name(options)'; kernel returns those to call."""
        return self._kernel_set.compiled()

    def has_kernels(self, keys: Iterable[tuple[str, ...]]) -> bool:
        """Return whether all kernels have been compiled, each given by its name and options."""
        return self._kernel_set.has(keys)

    def kernel(self, name: str, *options: str) -> Kernel:
        """Return a compiled function by name, for callers that keep their own arrays.

        Args:
            name, options: such as 'inverse_dynamics', or 'jacobian', a frame and a reference.
        """
        return self._kernel_set.kernel((name, *options))

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
        kernels, known = self._kernel_set, True
        try:
            call = kernels.final.get(key)
            if call is None:
                known = key in kernels.kernels
                call = kernels.call(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be part of a key: the definition raises the error.
            names = ('q', 'v', 'a')[: len(arrays)]
            for name, value in zip(names, arrays):
                if isinstance(value, str):
                    method = key[1] if key[0] == 'of_frames' else key[0]
                    expected = f'arrays before the frame: {method}({", ".join(names)}, {value!r})'
                    raise InvalidArgumentError(name, f'the name {value!r}', expected) from None
            frame = key[1] if key[1:] and isinstance(key[1], str) else ''
            if frame in REFERENCES and frame not in self.model.frame_indices:
                expected = f'the frame before the reference, or reference={frame!r}'
                raise InvalidArgumentError('frame', f'the reference {frame!r}', expected) from None
            define(self.model, key)
            raise
        result = call(*arrays) if out is None else call(*arrays, out=out)
        # Nodes have adjustable robots, and check every state themselves.
        if not known and not kernels.parameters.size:
            self._warn_of_degrees('q', arrays[0])
        return result

    def _of_frame(self, name: str, frame: Frames | None, *reference: str) -> Key:
        """Return the key of a quantity of a frame, of the default frame, or of several frames."""
        if frame is None:
            frame = self.model.tool_frame
        if isinstance(frame, (list, tuple)):
            return ('of_frames', name, *(reference or ('',)), *frame)
        return (name, frame, *reference)  # type: ignore[arg-type]

    def _under_wrenches(
        self, name: str, external_wrenches: Wrenches, *arrays: ArrayLike, out: Any = None
    ) -> Any:
        """Run the kernel of a quantity under wrenches by frame name.

        Raises:
            InvalidArgumentError: not a mapping, or what the kernel refuses, by name of the frame.
        """
        if not isinstance(external_wrenches, Mapping):
            problem = f'a {type(external_wrenches).__name__}'
            expected = 'a mapping from frame names to wrenches (..., 6)'
            raise InvalidArgumentError('external_wrenches', problem, expected)
        frames = sorted(external_wrenches, key=str)  # a set of frames is one kernel
        inputs = *arrays, *(external_wrenches[frame] for frame in frames)
        try:
            if out is None:  # a keyword after unpacked arguments costs a dict
                return self._run((name, *frames), *inputs)
            return self._run((name, *frames), *inputs, out=out)
        except InvalidArgumentError as error:
            argument = re.sub(
                rf'\b{WRENCH_INPUT}(\d+)',
                lambda x: f'external_wrenches[{frames[int(x[1])]!r}]',
                error.argument,
            )
            if argument == error.argument:
                raise
            raise InvalidArgumentError(argument, error.problem, error.expected) from None

    def _warn_of_degrees(self, argument: str, configurations: ArrayLike) -> None:
        """Log a warning about the first joint that is far beyond its limits, once for a robot.

        Args:
            argument: name of what is checked.
            configurations: (..., nq) the first one is checked; another shape is not.
        """
        q = np.asarray(configurations)
        if self._warned or q.shape[-1:] != (self.nq,) or not q.size:
            return
        first = q.reshape(-1, self.nq)[0].tolist()
        for joint in self.model.actuated:
            limits, position = joint.limits, first[joint.q_indices[0]]
            if len(joint.q_indices) == 1 and not limits.lower <= position <= limits.upper:
                beyond = limits.far_beyond(position, joint.kind.units[0])
                if beyond:
                    LOG.warning('%s: joint %s is %s', argument, quoted(joint.name), beyond)
                    self._warned = True
                    return


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
