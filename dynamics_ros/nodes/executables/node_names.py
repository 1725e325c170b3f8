# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of several nodes in one process."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError


def check_names(nodes: Mapping[str, Node]) -> None:
    """Refuse ``-r __node:=NAME``, as the ``name`` of a launch action: it is for all of them.

    Args:
        nodes: by the names that they have without any remapping.

    Raises:
        DynamicsRosError: there is one.
    """
    given = [node.get_name() for node in nodes.values()]
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        first = next(iter(nodes))
        raise DynamicsRosError(
            f'__node:={twice}: this process has the nodes {", ".join(nodes)}, which need a name '
            f'each; expected none, or one for a node of them: -r {first}:__node:={twice}'
        )
