# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contents of joint states and odometry as numbers, their checks, and the joints that they name."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError, shortened
from dynamics_ros.multibody.arguments import UNIT_LENGTH_TOLERANCE
from dynamics_ros.reasons import Explanation, Figure, Names, Part, Reason

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Indices = NDArray[np.intp]

NANOSECONDS = 1_000_000_000

MAX_FRAME_ID_LENGTH = 256
"""Maximum length of the frame name of odometry: every pose message carries it [characters]."""


QUANTITIES = ('position', 'velocity', 'effort')

NO_NUMBERS = np.zeros(0)


class RefusedMessage(Exception):  # noqa: N818 - an outcome, not an error
    """Raised for a message that is refused.

    Attributes:
        kind: cause in words that do not depend on the message, used as key for counting.
        explanation: the text, with its figures and names.
    """

    def __init__(self, kind: str, *detail: Part) -> None:
        self.explanation = Explanation(Reason.MESSAGES_REFUSED, f'{kind}: ', *detail)
        super().__init__(shortened(self.explanation))
        self.kind = kind


class JointValues(NamedTuple):
    """Content of a joint state; the arrays may share the memory of the message.

    It can also hold several joint states with the same names: stamps are then arrays (n), and the
    other arrays have a leading axis.

    Attributes:
        seconds, nanoseconds: stamp.
        names: joint names.
        position, velocity, effort: one value per joint, or empty; lengths are not checked.
        block: all three in one array, with one meaningless number between two of them; None if
            their lengths differ or they are not contiguous.
    """

    seconds: Any
    nanoseconds: Any
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    block: Array | None = None

    @property
    def time(self) -> Any:
        """Stamp, or stamps (n) [ns]."""
        return self.seconds * NANOSECONDS + self.nanoseconds


class PoseValues(NamedTuple):
    """Unchecked pose of a message: position [m] and quaternion (x, y, z, w)."""

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]


class OdometryValues(NamedTuple):
    """Unchecked content of an odometry message.

    Attributes:
        seconds, nanoseconds: stamp.
        frame_id, child_frame_id: frames of pose and twist.
        pose: pose of the root link in ``frame_id``.
        twist: (6) twist of the root link in ``child_frame_id``, linear first.
    """

    seconds: int
    nanoseconds: int
    frame_id: str
    child_frame_id: str
    pose: PoseValues
    twist: tuple[float, ...]


def finite_numbers(values: Sequence[float], name: str) -> list[float]:
    """Returns the numbers as a list.

    Raises:
        InvalidArgumentError: one of them is not finite.
    """
    if not all(map(math.isfinite, values)):
        problem = Explanation(Reason.OTHER, Names((), str(list(values))), ' is not finite')
        raise InvalidArgumentError(name, problem, 'finite numbers')
    return list(values)


def unit_quaternion(quaternion: Sequence[float], name: str) -> tuple[float, float, float, float]:
    """Returns the quaternion (x, y, z, w) scaled to unit length.

    Raises:
        InvalidArgumentError: it is not finite, or its length is not close to 1.
    """
    x, y, z, w = finite_numbers(quaternion, name)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(length - 1.0) > UNIT_LENGTH_TOLERANCE:
        figure = Figure(length, '.6g')
        problem = Explanation(Reason.OTHER, 'the quaternion has length ', figure)
        raise InvalidArgumentError(name, problem, 'a unit quaternion (x, y, z, w)')
    return (x / length, y / length, z / length, w / length)


def check_odometry(odometry: OdometryValues, names: Sequence[str]) -> None:
    """Checks all fields of an odometry message except for the pose values.

    Args:
        odometry: the message.
        names: accepted names of the root link.

    Raises:
        InvalidArgumentError: a field is invalid or describes another link.
    """
    if odometry.child_frame_id not in ('', *names):
        given = Names((), repr(odometry.child_frame_id))
        problem = Explanation(Reason.OTHER, given, ' is not the root link')
        raise InvalidArgumentError('child_frame_id', problem, names[0])
    finite_numbers(odometry.twist, 'odom.twist')
    if not any(odometry.pose.orientation):
        raise InvalidArgumentError('odom.pose.orientation', 'zero', 'a unit quaternion')
    if len(odometry.frame_id) > MAX_FRAME_ID_LENGTH:
        length = Figure(len(odometry.frame_id), 'd')
        problem = Explanation(Reason.OTHER, length, ' characters')
        raise InvalidArgumentError(
            'odom.header.frame_id', problem, f'at most {MAX_FRAME_ID_LENGTH}'
        )
    if odometry.nanoseconds >= NANOSECONDS:
        problem = Explanation(Reason.OTHER, Figure(odometry.nanoseconds, 'd'), ' ns')
        raise InvalidArgumentError('odom.header.stamp', problem, 'less than a second')


def floating_base(pose: PoseValues, name: str) -> Array:
    """Returns the coordinates (7) of a floating base: position, quaternion.

    Raises:
        InvalidArgumentError: the pose is invalid.
    """
    position = finite_numbers(pose.position, f'{name}.position')
    return np.array([*position, *unit_quaternion(pose.orientation, f'{name}.orientation')])


def planar_base(pose: PoseValues, name: str) -> Array:
    """Returns the coordinates (3) of a planar base: x, y, angle about z.

    Raises:
        InvalidArgumentError: the pose is invalid, or outside the plane.
    """
    x, y, z, w = unit_quaternion(pose.orientation, f'{name}.orientation')
    position = finite_numbers(pose.position, f'{name}.position')
    if abs(position[2]) > UNIT_LENGTH_TOLERANCE or math.hypot(x, y) > UNIT_LENGTH_TOLERANCE:
        raise InvalidArgumentError(name, 'the pose leaves the x-y plane', 'a pose of a planar base')
    return np.array([position[0], position[1], 2.0 * math.atan2(z, w)])


class Selection:
    """Indices of the robot's joints in messages with given names and array lengths.

    Attributes:
        names, sizes: the names; numbers of positions, velocities, efforts.
        joints, unknown: names of joints of the robot; those that are neither these nor ignored.
        refusal: kind and detail of the reason to refuse these messages; None if there is none.
        complete: whether the names include each joint.
        quantities: whether the messages contain positions, velocities, efforts.
        which: quantities of the timeline in the messages: slots of positions, then of velocities,
            then of efforts, each block offset by the number of slots.
        places: indices of these quantities in q, v and effort concatenated.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        slots: Mapping[str, int],
        ignored: frozenset[str],
        places: Indices,
    ) -> None:
        """Computes the indices.

        Args:
            names, sizes: see the class.
            slots: joint names with their indices.
            ignored: further names that may occur and are not used.
            places: indices of all quantities in q, v and effort concatenated.
        """
        self.names, self.sizes = names, sizes
        counts = Counter(names)
        repeated = tuple(name for name, count in counts.items() if count > 1)
        self.refusal: tuple[str, tuple[Part, ...]] | None = None
        if repeated:
            own = tuple(name for name in repeated if name in slots)
            self.refusal = 'repeated names', (Names(own, ', '.join(repeated)),)
        for name, size in zip(QUANTITIES, sizes, strict=True):
            if self.refusal is None and size not in (0, len(names)):
                lengths = Figure(size, 'd'), ' values for ', Figure(len(names), 'd'), ' names'
                self.refusal = f'wrong length of {name}', lengths
        known = sorted((slots[name], i) for i, name in enumerate(names) if name in slots)
        self.joints = tuple(names[i] for _, i in known)
        self.unknown = tuple(x for x in counts if x not in slots and x not in ignored)
        self.complete = len(known) == len(slots) > 0
        self.quantities = tuple(size > 0 for size in sizes)
        slot, self._order = np.array(known, dtype=np.intp).reshape(-1, 2).T
        reported = [slot + i * len(slots) for i, size in enumerate(sizes) if size]
        self.which = np.concatenate([slot[:0], *reported])
        indices = places[self.which]
        contiguous = np.array_equal(indices, np.arange(len(indices)))
        self.places: Indices | slice = slice(len(indices)) if contiguous else indices
        # In ``JointValues.block`` one number lies between two quantities.
        self._block_indices = (np.arange(3)[:, np.newaxis] * (sizes[0] + 1) + self._order).ravel()

    def values(self, message: JointValues) -> Array:
        """Returns the values of ``which``; for several messages one row each."""
        if message.block is not None:
            values: Array = message.block.take(self._block_indices, axis=-1)
            return values
        fields = message.position, message.velocity, message.effort
        chosen = [x[..., self._order] for x in fields if x.size]
        return np.concatenate(chosen, axis=-1) if chosen else NO_NUMBERS
