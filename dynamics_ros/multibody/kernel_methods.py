# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a robot: what they are made of, and methods that run them.

Model parameters, such as gravity and inertias, are constants of the kernels (`Parameters`) or their
last input, so that robots with different ones share kernels (`Compiled`).
"""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.quantity import (
    DEFAULT_REFERENCE,
    DEFINITIONS,
    REFERENCES,
    WRENCH_INPUT,
    Key,
    Options,
    define,
)
from dynamics_ros.errors import (
    FixedAttributeError,
    InvalidArgumentError,
    SingularError,
    TooLargeError,
)
from dynamics_ros.kernels import Kernel, Trace, trace
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.kernels.kernel import BACKENDS, method_of
from dynamics_ros.kernels.process import background, disk_cache
from dynamics_ros.model import ROOT, Model
from dynamics_ros.model.doubts import LOG
from dynamics_ros.model.hardened_xml import quoted
from dynamics_ros.multibody.arguments import overflow
from dynamics_ros.spatial import Inertia, Matrix3, Scalar, Vector3

Wrenches = Mapping[str, ArrayLike]

Array = NDArray[np.float64]

Frames = str | Sequence[str]
"""The name of a frame, or a list of names."""

Arrays = Sequence[Array]
"""One array for each result of a method."""

_Method = TypeVar('_Method', bound=Callable[..., Any])

_Entry = TypeVar('_Entry')

MAKERS = 'with_payload, with_gravity, with_locked and with_tool make another robot'

_INTERNAL = {'has_kernels', 'shares_kernels_with'}
"""Methods for nodes, which ``dir`` does not list."""

_OUT = """``out=`` is an array to fill and return, or a tuple of them for several results: float64,
of the shape of the result. After an error it holds nothing to rely on."""


INPUT = 'parameters'
"""Name of the last input of kernels that have parameters."""

INERTIA = 10
"""Numbers of the inertia of a body."""


@dataclass(frozen=True)
class Parameters:
    """Numbers of a model that are the last input of its kernels, bound to those of a robot.

    They are gravity (3), and for each of some bodies m, c (3), Ixx Ixy Iyy Ixz Iyz Izz about c.
    This form needs no division, so a massless body is no exception.

    Attributes:
        bodies: indices of these bodies, the root never moves; None if all numbers are constants.
    """

    bodies: tuple[int, ...] | None = None

    @classmethod
    def adjustable(cls, bodies: Iterable[int]) -> Parameters:
        """Return those of gravity and of the inertias of some bodies."""
        return cls(tuple(sorted({*bodies} - {ROOT})))

    @property
    def size(self) -> int:
        """Size of the input; 0 if kernels have none."""
        return 0 if self.bodies is None else 3 + INERTIA * len(self.bodies)

    def numbers(self, model: Model) -> Array | None:
        """Return the bound value of the input for a model; None if kernels have none."""
        if self.bodies is None:
            return None
        found: list[Scalar] = [*model.gravity]
        for body in self.bodies:
            inertia = model.inertias[body]
            upper = [inertia.rotational[x] for x in _UPPER]
            found += [inertia.mass, *inertia.center, *upper]
        return np.array(found, dtype=np.float64)

    def model(self, model: Model, parameters: Any) -> Model:
        """Return the model with these numbers."""
        inertias = list(model.inertias)
        for i, body in enumerate(self.bodies or ()):
            start = 3 + INERTIA * i
            mass, x, y, z, xx, xy, yy, xz, yz, zz = parameters[start : start + INERTIA]
            rotational = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            inertias[body] = Inertia(mass, Vector3(x, y, z), rotational)
        return replace(model, gravity=Vector3(*parameters[:3]), inertias=tuple(inertias))

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return self.model(model, [0.0] * self.size) if self.size else model

    def fits(self, model: Model, other: Model) -> bool:
        """Return whether kernels of one model also compute the other, with its own numbers."""
        bodies = self.bodies
        same = model.joints is other.joints and model.frames is other.frames
        if bodies is None or not same:
            return False
        pairs = enumerate(zip(model.inertias, other.inertias, strict=True))
        return all(a is b for i, (a, b) in pairs if i not in bodies)

    def moved(self, before: Model, after: Model) -> Parameters:
        """Return the same parameters after bodies were renumbered or locked to others."""
        if self.bodies is None:
            return self
        return self.adjustable(after.frame(before.body_names[x]).body for x in self.bodies)


NO_PARAMETERS = Parameters()

_UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))

HUGE = 1e50
"""Products of numbers beyond this may overflow; smaller ones point to a singular mass matrix."""

SOURCES = disk_cache.sources('spatial', 'model', 'algorithms', 'multibody')
"""The code of traces."""

MANY = 128
"""Largest number of kept kernels of a quantity with unlimited variants: one for each set of frames
with wrenches, of prescribed joints, or of constraints. The oldest of the same quantity are dropped;
a later request rebuilds them, mostly from the disk cache.
"""


MAX_PAIRS = 100_000
"""Largest sum over the joints of their squared depth: that of a chain of 66 joints. A humanoid of
60 joints with hands has less than a tenth.
"""

PAIRED = frozenset(
    {'mass_matrix', 'mass_matrix_inverse', 'coriolis', 'forward_dynamics', 'hybrid_dynamics'}
)
"""Requestable kernels with entries for pairs of joints on the same path to the root, each of which
takes work along that path: compiling them took half a gigabyte for a chain of 60 joints and minutes
for one of 120. Callers that must not block that long, such as a node, use ``check_size`` first.
"""


def is_large(model: Model) -> bool:
    """Return whether ``check_size`` refuses a robot."""
    return model.squared_depths > MAX_PAIRS


def check_size(model: Model, keys: Iterable[Key] = (('mass_matrix',),)) -> None:
    """Refuse kernels, each given by its name and options, that are too large to compile.

    Raises:
        InvalidArgumentError: the robot is too large for one.
    """
    if is_large(model) and any(key[0] in PAIRED for key in keys):
        raise InvalidArgumentError(
            'robot_description',
            f'{len(model.depths)} joints, up to {max(model.depths)} of them one behind another, are'
            ' too many for mass matrices and contacts; poses, gravity and inverse dynamics go on',
            'fewer, for example by locked_joints',
        )


def _traced(model: Model, parameters: Parameters, key: Key) -> Trace:
    """Return the trace of a kernel, from the disk cache if possible."""
    origin = ''
    if all(x not in DEFINITIONS or DEFINITIONS[x].is_of_package for x in key[:2]):
        # The digest covers this package alone.
        origin = disk_cache.origin((parameters.rest(model), parameters, key), SOURCES)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = replace(_traced_anew(model, parameters, key), origin=origin)
    if origin:
        disk_cache.write(origin, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _traced_anew(model: Model, parameters: Parameters, key: Key) -> Trace:
    formula = define(model, key)
    definition = DEFINITIONS[key[0]]
    function, inputs = formula.function, dict(formula.inputs)
    if parameters.size:
        function = partial(_with_parameters, model, parameters, key)
        inputs[INPUT] = parameters.size
    refused = partial(overflow_or_singular, definition.may_be_singular)
    return trace(
        function,
        inputs,
        key[0],
        f'{model.name}: {" ".join(key)}',
        unit_quaternions=_unit_quaternions(model, inputs),
        finite_results=refused if definition.finite_results else None,
        bound=parameters.size > 0,
    )


def _with_parameters(model: Model, parameters: Parameters, key: Key, *values: Any) -> Any:
    """Return the function of a kernel, whose last argument is the parameters."""
    return define(parameters.model(model, values[-1]), key).function(*values[:-1])


def _unit_quaternions(model: Model, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return places of the quaternions in the configurations among the inputs, as for ``trace``."""
    firsts = [
        joint.q_indices[joint.kind.quaternion][0]
        for joint in model.joints
        if joint.kind.quaternion is not None
    ]
    places = [place for place, name in enumerate(names) if name.startswith('q')]
    return [(place, first) for place in places for first in firsts]


@cache
def kernel_without_robot(name: str) -> Kernel:
    """Return the kernel of a quantity that depends on no robot, such as a step of a setpoint.

    Waits for the compilation, because there is no time for it once an arm moves.
    """
    formula = DEFINITIONS[name].formula(None)
    return Kernel(trace(formula.function, formula.inputs, name), wait=True)


class Compiled:
    """Kernels shared by robots whose models differ only in their parameters.

    Attributes:
        kernels: by key, not bound to parameters yet.
    """

    def __init__(self) -> None:
        self.kernels: dict[Key, Kernel] = {}
        # Errors of kernels that cannot be traced, which takes seconds to find out.
        self._refused: dict[Key, TooLargeError | SingularError] = {}
        self.lock = background.FreshLock()  # held while a kernel is traced

    def kernel(self, key: Key, model: Model, parameters: Parameters, backend: str) -> Kernel:
        """Return the kernel of a key, not bound to parameters; compiles it the first time.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint moves neither mass nor inertia, whatever q is.
        """
        with self.lock:
            if key in self._refused:
                raise copy(self._refused[key])  # without the traceback of the first one
            if key not in self.kernels:
                try:
                    traced = background.run(partial(_traced, model, parameters, key))
                except (TooLargeError, SingularError) as error:
                    _kept(self._refused, key, copy(error))
                    raise
                return _kept(self.kernels, key, Kernel(traced, backend))
            return self.kernels[key]


def _is_limited(key: Key) -> bool:
    """Return whether a quantity has a limited number of variants, such as those by frame."""
    kinds = Options.NONE, Options.FRAME, Options.FRAME_AND_REFERENCE
    return len(key) == 1 or DEFINITIONS[key[0]].options in kinds


def _kept(entries: dict[Key, _Entry], key: Key, entry: _Entry) -> _Entry:
    """Add an entry, unless another thread has; drop the oldest of too many variants."""
    entry = entries.setdefault(key, entry)
    if not _is_limited(key):
        for old in [x for x in list(entries) if x[0] == key[0] and not _is_limited(x)][:-MANY]:
            entries.pop(old, None)
    return entry


def overflow_or_singular(may_be_singular: bool, inputs: dict[str, Array]) -> Exception:
    """Return the error of inputs by name whose results are not finite.

    Args:
        may_be_singular: whether it divides by pivots of the mass matrix.
        inputs: the inputs, of one state or of several.
    """
    if may_be_singular and max(np.abs(x).max(initial=0.0) for x in inputs.values()) < HUGE:
        return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return overflow(inputs)


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
        backend: the requested backend: 'llvm', 'python' or 'auto'.
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
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        self.model = model
        self.backend = backend
        self.nq = model.nq
        self.nv = model.nv
        self._kept: dict[str, Any] = {'constraints': {}}  # derived by other rooms, by name
        self._use(NO_PARAMETERS)
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

    def _use(self, parameters: Parameters, compiled: Compiled | None = None) -> None:
        """Set which model parameters are kernel inputs, before the first kernel.

        Args:
            parameters: the parameters.
            compiled: kernels of another robot with the same ones; None for none.
        """
        self._kernel_parameters = parameters
        self._parameter_values = parameters.numbers(self.model)
        self._shared_kernels = compiled or Compiled()
        self._bound_kernels: dict[Key, Kernel] = {}
        # Calls of kernels that are ready: by key, and as methods find them by `method_of`.
        self._final: dict[Key, Callable[..., Any]] = {}
        self._direct_calls: dict[str, Any] = {}

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels compiled so far, by 'name(options)'; kernel returns those to call."""
        # Without the lock, which is held while a kernel is traced, so that the caller does not
        # wait.
        compiled = sorted(self._shared_kernels.kernels.copy().items())
        return {f'{key[0]}({", ".join(key[1:])})': kernel for key, kernel in compiled}

    def has_kernels(self, keys: Iterable[Key]) -> bool:
        """Return whether all kernels have been compiled, each given by its name and options."""
        return all(map(self._shared_kernels.kernels.__contains__, keys))

    def kernel(self, name: str, *options: str) -> Kernel:
        """Return a compiled function by name, for callers that keep their own arrays.

        Args:
            name, options: such as 'inverse_dynamics', or 'jacobian', a frame and a reference.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint moves neither mass nor inertia, whatever q is.
        """
        key = (name, *options)
        try:
            kernel = self._bound_kernels.get(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be part of a key: the definition raises the error.
            define(self.model, key)
            raise
        if kernel is not None:
            return kernel  # does not wait while another kernel is traced
        kernel = self._shared_kernels.kernels.get(key) or self._shared_kernels.kernel(
            key, self.model, self._kernel_parameters, self.backend
        )
        if kernel.bound is not None and self._parameter_values is not None:
            kernel = kernel.bound_to(self._parameter_values)
        kernel = _kept(self._bound_kernels, key, kernel)
        for old in [x for x in list(self._final) if x not in self._bound_kernels]:
            self._final.pop(old, None)
        return kernel

    def _call(self, key: Key) -> Callable[..., Any]:
        """Return the call of a kernel; when it is final, methods find it from then on."""
        kernel = self.kernel(*key)
        if kernel.ready:
            self._final[key] = kernel.call
            self._let_methods_find(key, kernel.call)
        return kernel.call

    def _let_methods_find(self, key: Key, call: Callable[..., Any]) -> None:
        """Add a call to ``_direct_calls``, if it is of a method with a table there."""
        direct, tool = self._direct_calls, self.model.tool_frame
        name, *names = key
        kind = DEFINITIONS[name].options
        if not names:
            direct[name] = call
        elif kind is Options.FRAME:
            frames = direct.setdefault(name, {})
            frames[names[0]] = call
            if names[0] == tool:
                frames[None] = call
        elif kind is Options.FRAME_AND_REFERENCE and len(names) == 2:
            frame, reference = names
            frames = direct.setdefault(name, {})
            calls = frames.setdefault(frame, {})
            calls[reference] = call
            if frame == tool:
                frames[None] = calls
            if reference == DEFAULT_REFERENCE:
                calls[None] = call

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
        known = True
        try:
            call = self._final.get(key)
            if call is None:
                known = key in self._bound_kernels
                call = self._call(key)
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
        if not known and not self._kernel_parameters.size:
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
