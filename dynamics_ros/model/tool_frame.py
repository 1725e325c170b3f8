# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the tool link of an unknown robot: the end of its longest chain, before fingers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dynamics_ros.errors import printable

from .description import JointDescription, RobotDescription
from .joints import ONE_COORDINATE

_TOOL_NAME = re.compile(
    r'(^|[_\-])(tool\d*|tcp|eef?|end_?effector|grasp\w*|gripper_frame\w*)([_\-]|$)', re.IGNORECASE
)
_FLANGE_NAME = re.compile(r'(^|[_\-])flange([_\-]|$)', re.IGNORECASE)
_HAND_NAME = re.compile(r'(gripper|hand|palm)(_?(link|frame))?$', re.IGNORECASE)
_PREFERRED = {'tool': _TOOL_NAME, 'flange': _FLANGE_NAME, 'hand': _HAND_NAME}
_SENSOR_NAME = re.compile(
    r'(^|[_\-/])(cam\d*|camera\w*|\w*optical\w*|lens|rgbd?|depth|infra\w*|stereo\w*|realsense|kinect|'
    r'lidar|laser|scanner|imu|gyro\w*|accel\w*)([_\-]|$)',
    re.IGNORECASE,
)
_FINGER_NAME = re.compile(r'finger|fngr|thumb|knuckle|jaw|claw', re.IGNORECASE)
_GRIPPER_NAME = re.compile(r'gripper|grasp', re.IGNORECASE)
_WRIST_NAME = re.compile(r'wrist|roll|pitch|yaw|rot|twist|swivel', re.IGNORECASE)
_ARM_BEFORE_HAND = 3  # joints; fewer cannot place a hand, so an earlier fork is not between fingers
_FINGER_LENGTH = 4  # joints; arms and legs have more
_WHOLE_ARM = 6  # joints; a fork after this many is between fingers, however long they are


def tool_frame(description: RobotDescription) -> str:
    """Return the default tool link, always the same one for the same description.

    From the root the walk follows the branch with the most joints of their own. It stops at a link
    where the chain forks into fingers, before a single joint of a gripper, or at the end. Among the
    links fixed to that link, it prefers one with the name of a tool (``tool0``, ``..._ee``,
    ``tcp``), then of a flange, of a hand, then the link that carries the fingers, or else the
    farthest. A camera or another sensor comes last.

    Args:
        description: description of a robot with any number of joints.

    Returns:
        The name of a link.
    """
    return tool_frame_and_reason(description)[0]


def tool_frame_and_reason(description: RobotDescription) -> tuple[str, str]:
    """Return the default tool link, as ``tool_frame`` does, and why it is this one."""
    return _Walk(description).end()


class _Walk:
    def __init__(self, description: RobotDescription) -> None:
        self._root = description.root
        self._below: dict[str, list[JointDescription]] = {}
        self._depth: dict[str, int] = {}  # own joints on the longest path below a link
        self._moves: dict[str, bool] = {}  # whether any joint below moves, mimic joints included
        for joint in description.joints:
            self._below.setdefault(joint.parent, []).append(joint)
        for joint in reversed(description.joints):
            depth = self._depth.get(joint.child, 0) + _own(joint)
            self._depth[joint.parent] = max(self._depth.get(joint.parent, 0), depth)
            moves = joint.type in ONE_COORDINATE or self._moves.get(joint.child, False)
            self._moves[joint.parent] = self._moves.get(joint.parent, False) or moves

    def end(self) -> tuple[str, str]:
        link, passed, carried = self._root, 0, self._root
        while True:
            branches = [
                joint
                for joint in self._below.get(link, ())
                if joint.type in ONE_COORDINATE or self._moves.get(joint.child, False)
            ]
            if self._depth.get(link, 0) == 0:
                return self._tip(carried, '', f'at the end of a chain of {passed} joints')
            if self._is_hand(link, branches, passed):
                fingers = ', '.join(printable(joint.name) for joint in branches[:3])
                return self._tip(carried, link, f'before the fingers ({fingers})')
            joint = max(
                branches, key=lambda branch: self._depth.get(branch.child, 0) + _own(branch)
            )
            link, passed = joint.child, passed + _own(joint)
            if joint.type != 'fixed':
                carried = link

    def _is_hand(self, link: str, branches: Sequence[JointDescription], passed: int) -> bool:
        depth = self._depth[link]
        if passed < _ARM_BEFORE_HAND:
            return False
        if len(branches) > 1:
            return depth <= _FINGER_LENGTH or passed >= _WHOLE_ARM
        (joint,) = branches
        if joint.type == 'fixed':
            return False
        names = f'{joint.name} {joint.child}'
        if depth <= _FINGER_LENGTH and _FINGER_NAME.search(names):
            return True
        if depth > 1:
            return False
        if _GRIPPER_NAME.search(joint.name) and not _WRIST_NAME.search(joint.name):
            return True
        return any(_TOOL_NAME.search(name) for name, _ in self._fixed_to(link))

    def _tip(self, carried: str, hand: str, where: str) -> tuple[str, str]:
        """Return the best link of a rigid body, and why.

        Args:
            carried: first link of the body, which a joint moves.
            hand: the link that carries fingers; '' if there are none.
            where: where the walk stopped.
        """

        def rank(fixed: tuple[str, int]) -> tuple[bool | int, ...]:
            name, distance = fixed
            named = [pattern.search(name) is not None for pattern in _PREFERRED.values()]
            # What is fixed to a flange is a tool itself, unless it carries fingers.
            beyond = [x for x, _ in self._fixed_to(name)[1:] if not _SENSOR_NAME.search(x)]
            named[1] &= bool(hand) or not beyond
            return _SENSOR_NAME.search(name) is None, *named, name == hand, distance

        name, _ = best = max(self._fixed_to(carried), key=rank)
        for kind, named in zip(_PREFERRED, rank(best)[1:]):
            if named:
                return name, f'named as a {kind}, {where}'
        return name, f'the last link {where}'

    def _fixed_to(self, link: str) -> list[tuple[str, int]]:
        """Return the link and all links fixed to it, with the number of fixed joints between."""
        found = [(link, 0)]
        for name, distance in found:
            found.extend(
                (joint.child, distance + 1)
                for joint in self._below.get(name, ())
                if joint.type == 'fixed'
            )
        return found


def _own(joint: JointDescription) -> int:
    """Return 1 for a joint with a coordinate of its own, which a mimic joint lacks."""
    return int(joint.type in ONE_COORDINATE and joint.mimic is None)
