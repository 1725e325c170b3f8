# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The links as tf has them: a tree along the joints, what moves on /tf, the rest on /tf_static."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, Step
from dynamics_ros.nodes.output.outputs import LATCHED, Output
from dynamics_ros.nodes.output.plan import Filled
from dynamics_ros.requests.frame_names import FrameNames
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, transform_stamped
from dynamics_ros.wire.templates import MessageTemplate

Links = tuple[tuple[str, str], ...]
"""Parent and child."""


class Tree(NamedTuple):
    """The tree of a robot.

    Attributes:
        moving: links that joints move; a base that moves in the world has the parent ''.
        transforms: the kernel of their poses in their parents; None where nothing moves.
        fixed: links that stand still in their parents.
        poses: (n, 4, 4) of these.
    """

    moving: Links
    transforms: Kernel | None
    fixed: Links
    poses: Array

    @classmethod
    def of(cls, robot: Robot, *, base: bool) -> Tree:
        """The tree of a robot.

        Args:
            robot: the robot; locked joints stand still.
            base: whether a moving base is part of it.
        """
        model = robot.model
        links = [model.frame(name) for name in model.body_names]
        moving = tuple((link.parent, link.name) for link in links if base or link.parent)
        poses = [link.origin.array() for link in model.fixed_frames]
        return cls(
            moving,
            robot.kernel('link_transforms', 'base' if base else '') if moving else None,
            tuple((link.parent, link.name) for link in model.fixed_frames),
            np.reshape(poses, (-1, 4, 4)),
        )


class TreeOutputs:
    """/tf and /tf_static."""

    def __init__(self, node: Node) -> None:
        kind = message_type()
        self._node = node
        self.moving = Output(node, kind, '/tf')
        self._fixed = Output(node, kind, '/tf_static', LATCHED)
        self._told: tuple[Tree, str] | None = None

    def all(self) -> list[Output]:
        """Both."""
        return [self.moving, self._fixed]

    def close(self) -> None:
        """Take both topics away."""
        for output in self.all():
            output.close()

    def tell_fixed(self, tree: Tree, prefix: str) -> None:
        """Publish what stands still, unless it is what was told last."""
        if self._told is not None and self._told[0] is tree and self._told[1] == prefix:
            return
        self._told = tree, prefix
        stamp = self._node.get_clock().now().to_msg()
        transforms = [
            transform_stamped(stamp, f'{prefix}{parent}', f'{prefix}{child}', pose)
            for (parent, child), pose in zip(tree.fixed, tree.poses, strict=True)
        ]
        self._fixed.publish(message_type()(transforms=transforms))

    def answer(self, tree: Tree, names: FrameNames, q: Array) -> Filled:
        """What moves, at the configuration in an array."""
        assert tree.transforms is not None, 'something moves'
        paths = [f'transforms.{i}.transform' for i in range(len(tree.moving))]
        template: MessageTemplate = self.moving.template((*names, tree.moving), _empty, paths)
        return Filled(template, (Step(tree.transforms, (q,), template.numbers),))


def message_type() -> Any:
    """tf2_msgs/TFMessage.

    Raises:
        InvalidArgumentError: tf2_msgs is not installed.
    """
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        raise InvalidArgumentError(
            'publish_tf', 'tf2_msgs is not installed', 'false without it'
        ) from None
    return TFMessage


def _empty(key: tuple[str, str, Links]) -> Any:
    root, prefix, links = key
    transforms = [
        transform_stamped(
            Time(), f'{prefix}{parent}' if parent else root, f'{prefix}{child}', np.eye(4)
        )
        for parent, child in links
    ]
    return message_type()(transforms=transforms)
