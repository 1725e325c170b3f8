# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of the tool link of an unknown robot: the end of its longest chain, before fingers."""

from __future__ import annotations

import re

from .description import JointDescription, RobotDescription
from .joints import ONE_COORDINATE

_TOOL_NAME = re.compile(
    r'(^|[_\-])(tool\d*|tcp|eef?|end_?effector|grasp\w*|gripper_frame\w*)([_\-]|$)', re.IGNORECASE
)
_ARM_BEFORE_HAND = 3  # joints; fewer cannot place a hand, so an earlier fork is not between fingers
_FINGER_LENGTH = 4  # joints; arms and legs have more
_WHOLE_ARM = 6  # joints; a fork after this many is between fingers, however long they are


def tool_frame(description: RobotDescription) -> str:
    """Return the default tool link, always the same one for the same description.

    From the root the walk follows the branch with the most joints of their own. It stops at a link
    where the chain forks into fingers, at a single jaw beside a frame with the name of a tool, or
    at the end. Among the links fixed to that link, it prefers one with the name of a tool
    (``tool0``,
    ``..._ee``, ``tcp``), then the farthest.

    Args:
        description: description of a robot with any number of joints.

    Returns:
        The name of a link.
    """
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

    def end(self) -> str:
        link, passed = self._root, 0
        while True:
            branches = [
                joint
                for joint in self._below.get(link, ())
                if joint.type in ONE_COORDINATE or self._moves.get(joint.child, False)
            ]
            if self._depth.get(link, 0) == 0 or self._is_hand(link, len(branches), passed):
                return self._tip(link)
            joint = max(
                branches, key=lambda branch: self._depth.get(branch.child, 0) + _own(branch)
            )
            link, passed = joint.child, passed + _own(joint)

    def _is_hand(self, link: str, branches: int, passed: int) -> bool:
        depth = self._depth[link]
        if passed < _ARM_BEFORE_HAND:
            return False
        if branches > 1:
            return depth <= _FINGER_LENGTH or passed >= _WHOLE_ARM
        return depth == 1 and any(_TOOL_NAME.search(name) for name, _ in self._fixed_to(link))

    def _tip(self, link: str) -> str:
        name, _ = max(
            self._fixed_to(link),
            key=lambda fixed: (_TOOL_NAME.search(fixed[0]) is not None, fixed[1]),
        )
        return name

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
