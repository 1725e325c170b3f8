# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Codes of the reasons that nodes report in diagnostics and in ~/status; programs read these.

Sentences are for people. An ``Explanation`` is a sentence with its code, so that both stay together
from where a problem is detected to where it is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

KEY = 'reason'
"""Key of the value that holds the code in a status of diagnostic_msgs."""

ACTION = 'action'
"""Key of the value in diagnostics that holds the code of the last ~/status of the node."""


class Reason(str, Enum):
    """Code of a reason."""

    OK = 'ok'
    OTHER = 'other'
    # The robot and its description.
    WAITING_FOR_DESCRIPTION = 'waiting_for_description'
    PREPARING = 'preparing_robot'
    CHANGE_REFUSED = 'change_refused'
    ROBOT_UNSUITABLE = 'robot_unsuitable'
    NO_MOVING_JOINT = 'no_moving_joint'
    MASSES_MISSING = 'masses_missing'
    # Inputs that are missing.
    NO_PUBLISHER = 'no_publisher'
    INCOMPATIBLE_PUBLISHER = 'incompatible_publisher'
    WAITING_FOR_STATES = 'waiting_for_states'
    UNKNOWN_JOINTS = 'unknown_joints'
    JOINTS_MISSING = 'joints_missing'
    JOINTS_UNSUPPORTED = 'joints_unsupported'
    JOINTS_STALE = 'joints_stale'
    STATES_STOPPED = 'states_stopped'
    VELOCITY_MISSING = 'velocity_missing'
    EFFORT_MISSING = 'effort_missing'
    STAMP_MISSING = 'stamp_missing'
    STAMPS_OLD = 'stamps_old'
    # Inputs that are invalid or implausible.
    MESSAGES_REFUSED = 'messages_refused'
    POSITION_NOT_FINITE = 'position_not_finite'
    POSITIONS_BEYOND_LIMITS = 'positions_beyond_limits'
    POSITION_JUMPED = 'position_jumped'
    STATES_CONTRADICTORY = 'states_contradictory'
    STATES_FROZEN = 'states_frozen'
    STATES_RARE = 'states_rare'
    LOOP_OPEN = 'loop_open'
    EFFORTS_INVALID = 'efforts_invalid'
    EFFORTS_UNEXPECTED = 'efforts_unexpected'
    FRICTION_UNEXPECTED = 'friction_unexpected'
    LOAD_UNEXPECTED = 'load_unexpected'
    TORQUES_UNEXPECTED = 'torques_unexpected'
    # Outputs.
    OUTPUT_MISSING = 'output_missing'
    NO_SUBSCRIBER = 'no_subscriber'
    COMPUTATION_FAILED = 'computation_failed'
    UNEXPECTED_ERROR = 'unexpected_error'
    # Nodes that command a robot.
    UNCONFIGURED = 'unconfigured'
    INACTIVE = 'inactive'
    FINALIZED = 'finalized'
    TRANSITION_FAILED = 'transition_failed'
    NOT_FOLLOWING = 'not_following'
    OTHER_PUBLISHERS = 'other_publishers'
    PAUSED = 'paused'
    WAITING_FOR_COMMAND = 'waiting_for_command'
    FOLLOWING = 'following'
    LIMITED = 'limited'
    HOLDING = 'holding'
    GUIDED = 'guided'
    BRAKING = 'braking'
    HALTED = 'halted'
    TARGET_REFUSED = 'target_refused'
    REACTING = 'reacting_to_collision'
    ENABLE_REFUSED = 'enable_refused'
    WRENCH_STOPPED = 'wrench_stopped'
    WRENCH_INVALID = 'wrench_invalid'
    WRENCH_FROZEN = 'wrench_frozen'
    CONTACT_UNSTABLE = 'contact_unstable'


FAULTS = frozenset(
    {
        Reason.POSITION_NOT_FINITE,
        Reason.POSITION_JUMPED,
        Reason.STATES_CONTRADICTORY,
        Reason.STATES_FROZEN,
    }
)
"""Reasons whose status has the level ERROR: the motion of the robot is unknown."""


class Figure(NamedTuple):
    """A number in an explanation, and its format."""

    value: float
    form: str


class Names(NamedTuple):
    """Names of the joints that an explanation concerns, and the text that lists them."""

    names: tuple[str, ...]
    text: str


Part = str | Figure | Names
"""Part of an explanation."""


class Explanation(str):
    """Sentence with the code of its reason, compared by its cause without figures and joints.

    Attributes:
        reason: the code.
        parts: texts, figures and names of joints, in their order.
    """

    __slots__ = ('parts', 'reason')

    reason: Reason
    parts: tuple[Part, ...]

    def __new__(cls, reason: Reason, *parts: Part) -> Explanation:
        """Create it from a code and parts; an explanation among them keeps its own parts."""
        flat = [x for part in parts for x in getattr(part, 'parts', (part,))]
        self = super().__new__(cls, ''.join(map(_text, flat)))
        self.reason, self.parts = reason, tuple(flat)
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.reason, *self.parts)

    @classmethod
    def joined(cls, texts: Iterable[str]) -> Explanation:
        """Join sentences, the empty ones left out, with the code of the first."""
        given = [text for text in texts if text]
        parts = [part for text in given for part in ('; ', text)]
        return cls(reason_of(given[0] if given else ''), *parts[1:])

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """The cause, which is the text without figures, with each joint, or alone without any."""
        cause = ''.join(x for x in self.parts if isinstance(x, str))
        joints = {name for x in self.parts if isinstance(x, Names) for name in x.names}
        return frozenset((cause, name) for name in joints or ('',))


def _text(part: Part) -> str:
    if isinstance(part, Figure):
        return format(part.value, part.form)
    return part.text if isinstance(part, Names) else part


class Counts:
    """Numbers of occurrences of explanations, by cause and joints, with ranges of their figures."""

    def __init__(self) -> None:
        self._counts: dict[frozenset[tuple[str, str]], int] = {}
        self._ends: dict[frozenset[tuple[str, str]], list[tuple[Part, ...]]] = {}

    def add(self, text: str, count: int) -> None:
        """Add occurrences."""
        one = text if isinstance(text, Explanation) else Explanation(Reason.OTHER, text)
        self._counts[one.keys] = self._counts.get(one.keys, 0) + count
        ends = self._ends.setdefault(one.keys, [one.parts, one.parts])
        for k, choose in enumerate((min, max)):
            pairs = zip(ends[k], one.parts, strict=True)
            ends[k] = tuple(choose(x, y) if isinstance(x, Figure) else x for x, y in pairs)

    def items(self) -> Iterator[tuple[str, int]]:
        """Yield the text of each cause, with the range of each figure, and its number."""
        for key, (low, high) in self._ends.items():
            ends = [tuple(map(_text, pair)) for pair in zip(low, high, strict=True)]
            yield ''.join(a if a == b else f'{a} to {b}' for a, b in ends), self._counts[key]


def reason_of(text: str) -> Reason:
    """Return the code of a sentence; ``OTHER`` if it has none, ``OK`` if it is empty."""
    if not text:
        return Reason.OK
    return text.reason if isinstance(text, Explanation) else Reason.OTHER
