# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests of MoveIt for kinematics: what they ask for, and the codes of refusals.

Requests are accessed by field names, so that the package moveit_msgs is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.parameters.kinematics import KinematicsParameters


class Code(IntEnum):
    """Codes of moveit_msgs/MoveItErrorCodes that the services return."""

    SUCCESS = 1
    FAILURE = 99999
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    COLLISION_CHECKING_UNAVAILABLE = -22
    ROBOT_STATE_STALE = -23
    NO_IK_SOLUTION = -31


class MoveItError(DynamicsRosError):
    """Invalid request, with the error code of MoveIt.

    Attributes:
        code: the error code.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_supported(request: Any, values: KinematicsParameters) -> None:
    """Check that a request asks for nothing unsupported.

    Args:
        request: moveit_msgs/PositionIKRequest.
        values: parameters of kinematics_node.

    Raises:
        MoveItError: unknown group, constraints, or avoidance of collisions.
    """
    group = values.group_name
    if group and request.group_name != group:
        text = f'group_name: unknown group {request.group_name!r}; expected {group!r}'
        raise MoveItError(Code.INVALID_GROUP_NAME, text)
    kinds = 'joint', 'position', 'orientation', 'visibility'
    given = [kind for kind in kinds if getattr(request.constraints, f'{kind}_constraints')]
    if given:
        text = f'constraints: {" and ".join(given)} constraints are not supported; expected none'
        raise MoveItError(Code.INVALID_GOAL_CONSTRAINTS, text)
    if request.avoid_collisions and values.avoid_collisions_policy == 'error':
        text = (
            'avoid_collisions: this node knows no collisions; expected false, or the parameter '
            "avoid_collisions_policy set to 'ignore'"
        )
        raise MoveItError(Code.COLLISION_CHECKING_UNAVAILABLE, text)


def requested_targets(request: Any, default_link: Callable[[], str]) -> list[tuple[str, Any, str]]:
    """Return link, pose and field name of each target of a request.

    Args:
        request: moveit_msgs/PositionIKRequest.
        default_link: returns the link of a target that names none.

    Raises:
        MoveItError: the numbers of links and poses differ.
    """
    poses, links = request.pose_stamped_vector, request.ik_link_names
    if not poses:
        return [(request.ik_link_name or default_link(), request.pose_stamped, 'pose_stamped')]
    links = list(links) or [request.ik_link_name or default_link()]
    if len(links) != len(poses):
        text = f'ik_link_names: {len(links)} for {len(poses)} poses; expected one for each'
        raise MoveItError(Code.INVALID_LINK_NAME, text)
    return [
        (link, pose, f'pose_stamped_vector[{i}]')
        for i, (link, pose) in enumerate(zip(links, poses, strict=True))
    ]
