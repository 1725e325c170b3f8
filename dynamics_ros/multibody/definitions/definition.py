# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Definitions of quantities, and helpers that the definitions of all topics share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.jacobian import REFERENCES, Reference
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Motion, Scalar

Key = tuple[str, ...]
"""Name of a quantity, followed by its options."""

Shape = int | tuple[int, ...]
Values = Sequence[Scalar]
Elements = NDArray[np.object_]

DEFAULT_REFERENCE: Reference = 'local_world_aligned'
"""Default reference of a Jacobian, twist or acceleration."""

ALL_ROWS = '012345'

INPUTS = {
    'q': 'configuration',
    'q0': 'configuration at the start, as q',
    'q1': 'configuration at the end, as q',
    'v': 'velocity',
    'a': 'acceleration',
    'tau': 'torques',
    'rate': 'time derivative of q',
    't': 'part of the way, 0 at q0 and 1 at q1',
}
"""Descriptions of the inputs of a robot's methods; wrenches follow them (`Options.WRENCHES`)."""

WRENCH_INPUT = 'external_wrench_'
"""Name prefix of an input that is a wrench, followed by its index among the options."""

CONFIGURATION = 'a configuration, as q'
VELOCITY = 'a velocity, as v'
TORQUES = 'torques, as tau'


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
    HELD = ':KIND:FRAME[:FRAME]...'
    """Constraints: 'point', 'surface' or 'normal' and a frame; 'position', 'pose' or 'revolute' and
    two frames.
    """
    OTHER = '[:OPTION...]'
    """Options that the formula's function documents."""


@dataclass(frozen=True)
class Formula:
    """Inputs by name and shape, and the function of them that is traced."""

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]


@dataclass(frozen=True)
class Definition:
    """Quantity of a robot: its meaning, and the formula that is traced for a model.

    Attributes:
        formula: makes the formula from a model and the options of a key.
        summary: one line on what is computed.
        outputs: the meaning of each output, with units; a single one is called 'result'. Empty
            if the outputs are named after links.
        options: kind of options in a key.
        may_be_singular: whether it divides by pivots of the mass matrix, which are zero for a joint
            that moves neither mass nor inertia.
        may_overflow: whether unrealistically large finite velocities, accelerations or torques can
            give results that are not finite, which are refused. Quantities that may be singular may
            overflow too.
        internal: whether it serves a solver, an estimator, a node or a controller; the others are
            methods of ``RigidBodySystem`` under the same name.
        inputs: for a control law, which is exported like the methods, the meaning of inputs that
            are
            not in ``INPUTS``; None for other internal quantities.
    """

    formula: Callable[..., Formula]
    summary: str
    outputs: Mapping[str, str]
    options: Options = Options.NONE
    may_be_singular: bool = False
    may_overflow: bool = False
    internal: bool = False
    inputs: Mapping[str, str] | None = None

    @property
    def finite_results(self) -> bool:
        """Whether results that are not finite are refused."""
        return self.may_be_singular or self.may_overflow

    @property
    def names_a_frame(self) -> bool:
        """Whether its options are the last arguments of its method: a frame, maybe a reference."""
        return self.options in (Options.FRAME, Options.FRAME_AND_REFERENCE)


def result(meaning: str) -> dict[str, str]:
    """Return the outputs of a quantity with a single result."""
    return {'result': meaning}


def over(algorithm: Callable[..., Any], *inputs: str) -> Callable[[Model], Formula]:
    """Return the formula maker of an algorithm of (model, *inputs) without options."""

    def make(model: Model) -> Formula:
        sizes = {'t': ()}
        shapes = {x: sizes.get(x, model.nq if x.startswith('q') else model.nv) for x in inputs}
        return Formula(shapes, lambda *values: algorithm(model, *values))

    return make


def with_wrenches(algorithm: Callable[..., Any], third: str) -> Callable[..., Formula]:
    """Return the formula maker of an algorithm of (model, q, v, third, external).

    The options are the frames of wrenches. The algorithm takes forces by body, each in the frame of
    its body.
    """

    def make(model: Model, *frames: str) -> Formula:
        targets = [model.frame(frame) for frame in frames]

        def function(q: Values, v: Values, x: Values, *wrenches: Values) -> Any:
            external: dict[int, Force] = {}
            for target, wrench in zip(targets, wrenches, strict=True):
                if target.body != ROOT:
                    force = target.placement.act(Force.of(wrench))
                    external[target.body] = external.get(target.body, Force.zero()) + force
            return algorithm(model, q, v, x, external)

        inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, third: model.nv}
        inputs |= {f'{WRENCH_INPUT}{i}': 6 for i in range(len(frames))}
        return Formula(inputs, function)

    return make


def checked_reference(reference: str) -> str:
    """Return a reference of a Jacobian after a check.

    Raises:
        InvalidArgumentError: it is not a reference.
    """
    if not isinstance(reference, str) or reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(reference), f'one of {REFERENCES}')
    return reference


def checked_indices(
    options: Iterable[str], count: int, argument: str, given: str, of: str = 'v'
) -> list[int]:
    """Return indices from the options of a key.

    Args:
        options: their digits.
        count: number of indices that exist.
        argument, given: the argument and its value, for errors.
        of: what the indices count, for errors.

    Raises:
        InvalidArgumentError: an option is not such an index.
    """
    options = list(options)
    if not all(str(x).isdecimal() and int(x) < count for x in options):
        raise InvalidArgumentError(argument, given, f'indices of {of}, from 0 to {count - 1}')
    return [int(x) for x in options]


def checked_rows(digits: str, argument: str, given: str) -> list[int]:
    """Return rows of a Jacobian from an option of a key.

    Args:
        digits: the option.
        argument, given: the argument and its value, for errors.

    Raises:
        InvalidArgumentError: no row, a repeated row, or a row that does not exist.
    """
    if not digits or len(set(digits)) < len(digits) or not set(digits) <= set(ALL_ROWS):
        raise InvalidArgumentError(argument, given, 'different digits from 0 to 5 as rows')
    return [int(row) for row in digits]


def of_bodies(model: Model, values: Mapping[int, Motion | Force]) -> Elements:
    """Return motions or forces of the bodies as rows, (bodies, 6), without the root frame."""
    count = len(model.joints)
    return shaped([values[i].components() for i in range(count)], count, 6)


def square(model: Model, rows: Sequence[Values]) -> Elements:
    """Return rows as an (nv, nv) matrix."""
    return shaped(rows, model.nv, model.nv)


def shaped(rows: Any, *shape: int) -> Elements:
    """Return nested rows as an array of a given shape, also if there are no rows."""
    return np.array(rows, dtype=object).reshape(shape)


def matrix(columns: Iterable[Motion | Force]) -> list[list[Scalar]]:
    """Return six rows from motions or forces that are columns."""
    return rows([column.components() for column in columns], 6)


def rows(columns: Sequence[Sequence[Scalar]], count: int) -> list[list[Scalar]]:
    """Return columns as rows; a robot without joints has rows without entries."""
    return [[column[row] for column in columns] for row in range(count)]
