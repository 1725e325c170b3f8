# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of a robot, each declared once, beside its algorithm.

``@quantity`` declares a function of (model, ...) over scalars as a quantity. Annotations of its
parameters say what the inputs of its kernel are (``Q``, ``V``, ``Annotated[..., Input(6)]``; a
plain ``Scalar`` is a number) and what its options are (``Frame``, ``Reference``, ``External``,
...); the annotation of its result says how that becomes arrays. A robot has a method for each
quantity that is not internal, and exports, documents and tests read the declarations.

A quantity is looked up by a key (name, *options), e.g. ``('jacobian', 'tool0', 'world')``. The
options are fixed in a trace; configurations and velocities are inputs. What the annotations cannot
say is declared with ``@quantity_formula``, on a function that returns a `Formula`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError, UnknownNameError
from dynamics_ros.model import ROOT, Frame, Model
from dynamics_ros.spatial import Force, Motion, Scalar, Transform, Vector3

Key = tuple[str, ...]
"""Name of a quantity, followed by its options."""

Shape = int | tuple[int, ...]
Values = Sequence[Scalar]
Elements = NDArray[np.object_]

Axis = int | str | Callable[[Model], int]
"""Length of an axis: a number, an attribute of the model, an option that takes several (``rows``),
the sum of their attributes ``rows`` (``held.rows``), or a function of the model."""

Reference = Literal['world', 'local', 'local_world_aligned']
"""Reference of a twist. 'world': spatial twist at the origin of the root frame. 'local': body
twist. 'local_world_aligned': velocity of the frame's origin and angular velocity, in axes of the
root frame."""

REFERENCES: tuple[Reference, ...] = get_args(Reference)
"""Names of all references."""

DEFAULT_REFERENCE: Reference = 'local_world_aligned'
"""Default reference of a Jacobian, twist or acceleration."""

ALL_ROWS = '012345'

WRENCH_INPUT = 'external_wrench_'
"""Name prefix of an input that is a wrench, followed by its index among the options."""

CONFIGURATION = 'a configuration, as q'
VELOCITY = 'a velocity, as v'
TORQUES = 'torques, as tau'


class Input:
    """Shape and meaning of an input of a kernel, or the shape of a result that may be empty.

    Attributes:
        axes: length of each axis.
        meaning: what it is, with units; '' for an input that only solvers and nodes pass.
    """

    def __init__(self, *axes: Axis, meaning: str = '') -> None:
        self.axes = axes
        self.meaning = meaning

    @property
    def names(self) -> list[str]:
        """Axes as text."""
        return [getattr(axis, '__name__', str(axis)) for axis in self.axes]

    def shape(self, model: Model, counts: Mapping[str, int] | None = None) -> tuple[int, ...]:
        """Return the shape for a model, and for the number of each option that takes several."""
        return tuple(_length(axis, model, counts or {}) for axis in self.axes)


def _length(axis: Axis, model: Model, counts: Mapping[str, int]) -> int:
    if isinstance(axis, int):
        return axis
    if isinstance(axis, str):
        length: int = counts[axis] if axis in counts else getattr(model, axis)
        return length
    return axis(model)


Q = Annotated[Values, Input('nq', meaning='configuration')]
V = Annotated[Values, Input('nv', meaning='velocity')]
A = Annotated[Values, Input('nv', meaning='acceleration')]
Tau = Annotated[Values, Input('nv', meaning='torques')]
PerVelocity = Annotated[Values, Input('nv')]
SquareMatrix = Annotated[list[list[Scalar]], Input('nv', 'nv')]


class Options(Enum):
    """Kinds of options after a quantity's name in a key; the values are the syntax for users."""

    NONE = ''
    FRAME = ':FRAME'
    """A frame."""
    FRAME_AND_REFERENCE = ':FRAME[:REFERENCE]'
    """A frame, followed by the reference of a Jacobian, twist or acceleration."""
    WRENCHES = '[:FRAME...]'
    """Frames of external wrenches; each adds an input: force [N], then torque [Nm] in the frame."""
    PRESCRIBED = '[:INDEX...]'
    """Indices of the velocities whose acceleration is given."""
    FRAME_AND_ROWS = ':FRAME[:ROWS]'
    """A frame, followed by the digits of the rows of its Jacobian in use, 0 to 5."""
    CONSTRAINTS = ':KIND:FRAME[:FRAME]...'
    """Constraints: 'point', 'surface' or 'normal' and a frame; 'position', 'pose' or 'revolute' and
    two frames.
    """
    OTHER = '[:OPTION...]'
    """Options that the declaration documents."""


@dataclass(frozen=True)
class Parsed:
    """How options of a key become an argument.

    Attributes:
        parse: function of the model and the option, or all options if they are several.
        kind: kind of options of a quantity that has no others.
        several: whether it takes the rest of a key.
    """

    parse: Callable[[Model, Any], Any]
    kind: Options = Options.OTHER
    several: bool = True


def _frames(model: Model, names: Sequence[str]) -> list[Frame]:
    return [model.frame(name) for name in names]


def _indices(model: Model, options: Sequence[str]) -> frozenset[int]:
    if not all(str(x).isdecimal() and int(x) < model.nv for x in options):
        expected = f'indices of v, from 0 to {model.nv - 1}'
        raise InvalidArgumentError('prescribed', ':'.join(map(str, options)), expected)
    return frozenset(map(int, options))


def _rows(model: Model, digits: str) -> list[int]:
    if not digits or len({*digits}) < len(digits) or not {*digits} <= {*ALL_ROWS}:
        raise InvalidArgumentError('rows', repr(digits), 'different digits from 0 to 5 as rows')
    return [int(row) for row in digits]


External = Annotated[Mapping[int, Force] | None, Parsed(_frames, Options.WRENCHES)]
"""Forces by body, each in the frame of its body; options are frames, whose wrenches are inputs."""

Prescribed = Annotated[Collection[int], Parsed(_indices, Options.PRESCRIBED)]
RowsOfFrame = Annotated[Sequence[int], Parsed(_rows, several=False)]
Frames = Annotated[Sequence[Frame], Parsed(_frames)]

_KINDS = {
    (): Options.NONE,
    (Frame,): Options.FRAME,
    (Frame, Reference): Options.FRAME_AND_REFERENCE,
    (Frame, RowsOfFrame): Options.FRAME_AND_ROWS,
}


@dataclass(frozen=True)
class Formula:
    """Inputs by name and shape, and the function of them that is traced."""

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]


@dataclass(frozen=True)
class Definition:
    """Quantity of a robot: its meaning, and the formula that is traced for a model.

    Attributes:
        name: the first entry of its keys, and the name of its method.
        function: the algorithm; or what makes the formula, from a model and the options of a key.
        summary: one line on what is computed, without a full stop.
        outputs: the meaning of each output, with units; a single one is called 'result'. Empty
            if the outputs are named after links.
        may_be_singular: whether it divides by pivots of the mass matrix, which are zero for a joint
            that moves neither mass nor inertia.
        may_overflow: whether unrealistically large finite velocities, accelerations or torques can
            give results that are not finite, which are refused. Quantities that may be singular may
            overflow too.
        internal: whether it serves a solver, an estimator, a node or a controller; the others are
            methods of ``RigidBodySystem`` under the same name.
        exported: whether an internal one is a control law, which is exported like the methods.
        written: whether its method is written in ``multibody``, because it does more than run a
            kernel.
        notes: paragraphs for the documentation of its method.
        makes_formula: whether the function makes a formula.
    """

    name: str
    function: Callable[..., Any]
    summary: str
    outputs: Mapping[str, str]
    may_be_singular: bool = False
    may_overflow: bool = False
    internal: bool = False
    exported: bool = False
    written: bool = False
    notes: str = ''
    makes_formula: bool = False

    @property
    def finite_results(self) -> bool:
        """Whether results that are not finite are refused."""
        return self.may_be_singular or self.may_overflow

    @property
    def names_a_frame(self) -> bool:
        """Whether its options are the last arguments of its method: a frame, maybe a reference."""
        return self.options in (Options.FRAME, Options.FRAME_AND_REFERENCE)

    @property
    def is_of_package(self) -> bool:
        """Whether it is declared in this package."""
        return self.function.__module__.partition('.')[0] == __name__.partition('.')[0]

    @computed_once
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function, eval_str=True)

    @computed_once
    def _parts(self) -> list[tuple[str, Any, Input | None]]:
        """Name, annotation and input, or None for an option, of each parameter that it takes."""
        parts: list[tuple[str, Any, Input | None]] = []
        for name, parameter in self._signature.parameters.items():
            hint = parameter.annotation
            shape = _input_of(hint)
            if hint is Model or (
                parameter.default is not parameter.empty and hint not in _OPTIONAL
            ):
                continue
            parts.append((name, hint, shape))
        return parts

    @computed_once
    def inputs(self) -> dict[str, Input]:
        """Inputs of the kernel by name, without external wrenches; empty for a formula."""
        if self.makes_formula:
            return {}
        return {name: shape for name, _, shape in self._parts if shape is not None}

    @computed_once
    def meanings(self) -> dict[str, str]:
        """Meaning of the inputs by name, of those that have one."""
        return {name: x.meaning for name, x in self.inputs.items() if x.meaning}

    @computed_once
    def options(self) -> Options:
        """Kind of options in a key."""
        if self.makes_formula:
            return Options.OTHER
        kinds = tuple(hint for _, hint, shape in self._parts if shape is None)
        parsed = _metadata(kinds[0], Parsed) if len(kinds) == 1 else None
        return parsed.kind if parsed else _KINDS.get(kinds, Options.OTHER)

    def formula(self, model: Model | None, *options: str) -> Formula:
        """Return the formula for a model, or without one if it depends on none.

        Raises:
            UnknownFrameError: an option names a frame that the model does not have.
            InvalidArgumentError: an option is unknown, or there are too few or too many.
        """
        try:
            if self.makes_formula:
                self._signature.bind(model, *options)
            fixed = {} if self.makes_formula else self._fixed(model, options)
        except (TypeError, IndexError):
            given = ':'.join(map(str, (self.name, *options)))
            expected = f'{self.name}{self.options.value}'
            raise InvalidArgumentError('kernel', repr(given), expected) from None
        if self.makes_formula:
            made: Formula = self.function(model, *options)
            return made
        return self._formula_of(model, fixed)

    def _fixed(self, model: Any, options: Sequence[str]) -> dict[str, Any]:
        """Return the arguments that options fix, by parameter; wrenches as their frames."""
        fixed: dict[str, Any] = {}
        rest = list(options)
        for name, hint, shape in self._parts:
            if shape is None:
                parsed = _metadata(hint, Parsed)
                option: Any = rest
                if parsed and parsed.several:
                    rest = []
                elif hint == RowsOfFrame and not rest:
                    option = ALL_ROWS
                else:
                    option = rest.pop(0)
                fixed[name] = _parsed(model, hint, option)
        if rest:
            raise IndexError
        return fixed

    def _formula_of(self, model: Any, fixed: dict[str, Any]) -> Formula:
        external = next((name for name, hint, _ in self._parts if hint == External), '')
        wrenches: list[Frame] = fixed.pop(external, [])
        several = {name: x for name, x in fixed.items() if isinstance(x, list)}
        counts = {name: len(x) for name, x in several.items()}
        counts |= {
            f'{name}.rows': sum(getattr(y, 'rows', 0) for y in x) for name, x in several.items()
        }
        inputs: dict[str, Shape] = {name: x.shape(model, counts) for name, x in self.inputs.items()}
        names = list(inputs)
        inputs |= {f'{WRENCH_INPUT}{i}': 6 for i in range(len(wrenches))}
        parameters = self._signature.parameters
        leading = {name: model for name, x in parameters.items() if x.annotation is Model}

        def function(*values: Any) -> Any:
            arguments = leading | fixed | dict(zip(names, values))
            if external:
                arguments[external] = forces_by_body(wrenches, values[len(names) :])
            return self._arrays(model, self.function(**arguments))

        return Formula(inputs, function)

    @computed_once
    def _hints(self) -> tuple[Any, ...]:
        """Annotations of the results."""
        hint = self._signature.return_annotation
        if get_origin(hint) is not tuple:
            return (hint,)
        hints = get_args(hint)
        return hints[:1] * len(self.outputs) if hints[-1] is Ellipsis else hints

    @property
    def shapes(self) -> list[str]:
        """Shape of each result of the method, in documentation."""
        shapes = []
        for hint in self._hints:
            axes = [RESULTS[hint][0]] if hint in RESULTS else hint.__metadata__[0].names
            shapes.append(f'({", ".join(["...", *filter(None, axes)])})')
        return shapes

    def _arrays(self, model: Model, result: Any) -> Any:
        if list(self.outputs) == ['result']:
            return _array(model, self._hints[0], result)
        if isinstance(result, Mapping):
            return result
        parts = result if isinstance(result, tuple) else (result,)
        return {
            name: _array(model, hint, value)
            for name, hint, value in zip(self.outputs, self._hints, parts, strict=True)
        }


_OPTIONAL = (External, RowsOfFrame)

_Kind = TypeVar('_Kind')


def _metadata(hint: Any, kind: type[_Kind]) -> _Kind | None:
    """Return the metadata of an annotation if it is of a kind."""
    metadata = hint.__metadata__[0] if get_origin(hint) is Annotated else None
    return metadata if isinstance(metadata, kind) else None


def _input_of(hint: Any) -> Input | None:
    return Input() if hint is Any else _metadata(hint, Input)


def _parsed(model: Model, hint: Any, option: Any) -> Any:
    if hint is Frame:
        return model.frame(option)
    if hint == Reference:
        return checked_reference(option)
    parsed = _metadata(hint, Parsed)
    return parsed.parse(model, option) if parsed else option


def _of_bodies(model: Model, values: Mapping[int, Motion | Force]) -> Elements:
    count = len(model.joints)  # without the root frame
    return shaped([values[i].components() for i in range(count)], count, 6)


def _columns(model: Model, columns: Sequence[Motion | Force]) -> list[list[Scalar]]:
    return rows([column.components() for column in columns], 6)


def _hessian(model: Model, hessian: Sequence[Sequence[Motion]]) -> Elements:
    by = [[rate.components() for rate in rates] for rates in hessian]
    entries = [[[rate[row] for rate in rates] for rates in by] for row in range(6)]
    return shaped(entries, 6, model.nv, model.nv)


RESULTS: dict[Any, tuple[str, Callable[[Model, Any], Any]]] = {
    Any: ('', lambda model, x: x),
    list[Any]: ('nv', lambda model, x: x),
    Vector3: ('3', lambda model, x: [*x]),
    Motion: ('6', lambda model, x: x.components()),
    Force: ('6', lambda model, x: x.components()),
    Transform: ('4, 4', lambda model, x: x.rows()),
    list[Transform]: ('frames, 4, 4', lambda model, x: [X.rows() for X in x]),
    list[Vector3]: ('3, nv', lambda model, x: rows([[*column] for column in x], 3)),
    list[Motion]: ('6, nv', _columns),
    list[Force]: ('6, nv', _columns),
    dict[int, Motion]: ('bodies, 6', _of_bodies),
    dict[int, Force]: ('bodies, 6', _of_bodies),
    list[list[Motion]]: ('6, nv, nv', _hessian),
}
"""By annotation of a result its shape in documentation, and what makes nested lists of it."""


def _array(model: Model, hint: Any, value: Any) -> Any:
    """Return a result as nested lists or an array, as its annotation says."""
    if get_origin(hint) is Annotated:
        return shaped(value, *hint.__metadata__[0].shape(model))
    return RESULTS[hint][1](model, value) if hint in RESULTS else value


DEFINITIONS: dict[str, Definition] = {}
"""All quantities by name; those of a module once it is imported."""

_listeners: list[Callable[[Definition], None]] = []

_Function = TypeVar('_Function', bound=Callable[..., Any])


def for_each_quantity(listener: Callable[[Definition], None]) -> None:
    """Call a function with each quantity that is declared, and with those declared later."""
    _listeners.append(listener)
    for definition in DEFINITIONS.values():
        listener(definition)


def quantity(
    summary: str, outputs: str | Mapping[str, str], name: str = '', **fields: Any
) -> Callable[[_Function], _Function]:
    """Return a decorator that declares a function as a quantity and leaves it as it is.

    Args:
        summary, outputs: as for `Definition`; a string is the meaning of a single result.
        name: '' for the name of the function.
        fields: ``may_overflow``, ``internal`` and the like of `Definition`.
    """
    named = {'result': outputs} if isinstance(outputs, str) else outputs

    def declare(function: _Function) -> _Function:
        own = name or function.__name__
        definition = DEFINITIONS[own] = Definition(own, function, summary, named, **fields)
        for listener in _listeners:
            listener(definition)
        return function

    return declare


def quantity_formula(
    summary: str, outputs: str | Mapping[str, str], **fields: Any
) -> Callable[[_Function], _Function]:
    """Return a decorator that declares an internal quantity by what makes its formula.

    Args:
        summary, outputs, fields: as of `quantity`.
    """
    return quantity(summary, outputs, **fields, makes_formula=True, internal=True)


def define(model: Model, key: Key) -> Formula:
    """Return the formula of a quantity for a model.

    Raises:
        UnknownFrameError: an option names a frame that the model does not have.
        InvalidArgumentError: an option names an unknown reference, options are missing or too many,
            or there is no such quantity.
    """
    name, *options = key
    if not isinstance(name, str) or name not in DEFINITIONS:
        raise UnknownNameError('kernel', name, DEFINITIONS)
    return DEFINITIONS[name].formula(model, *options)


def forces_by_body(frames: Iterable[Frame], wrenches: Iterable[Values]) -> dict[int, Force]:
    """Return the forces of wrenches at frames by body, each in the frame of its body."""
    external: dict[int, Force] = {}
    for frame, wrench in zip(frames, wrenches, strict=True):
        if frame.body != ROOT:
            force = frame.placement.act(Force.of(wrench))
            external[frame.body] = external.get(frame.body, Force.zero()) + force
    return external


def checked_reference(reference: str) -> str:
    """Return a reference of a Jacobian after a check.

    Raises:
        InvalidArgumentError: it is not a reference.
    """
    if not isinstance(reference, str) or reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(reference), f'one of {REFERENCES}')
    return reference


def shaped(rows: Any, *shape: int) -> Elements:
    """Return nested rows as an array of a given shape, also if there are no rows."""
    return np.array(rows, dtype=object).reshape(shape)


def rows(columns: Sequence[Sequence[Scalar]], count: int) -> list[list[Scalar]]:
    """Return columns as rows; a robot without joints has rows without entries."""
    return [[column[row] for column in columns] for row in range(count)]
