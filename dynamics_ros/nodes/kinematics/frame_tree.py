# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Link transforms for tf: links on moving joints on /tf, others on /tf_static."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from dynamics_ros.kernels import Step
from dynamics_ros.multibody.link_tree import Links, LinkTree
from dynamics_ros.nodes.output.outputs import LATCHED, Output
from dynamics_ros.nodes.output.plan import KernelMessage
from dynamics_ros.requests.frame_names import FrameNames
from dynamics_ros.wire.conversions import Array, transform_stamped
from dynamics_ros.wire.message_template import MessageTemplate
from dynamics_ros.wire.optional_messages import message_type


def tf_message() -> Any:
    """Return the message type tf2_msgs/TFMessage.

    Raises:
        InvalidArgumentError: tf2_msgs is not installed.
    """
    return message_type('tf2_msgs/msg/TFMessage', 'publish_tf', 'false without it')


class TransformOutputs:
    """Publishers of /tf and /tf_static.

    Attributes:
        moving: publisher of /tf.
    """

    def __init__(self, node: Node) -> None:
        kind = tf_message()
        self._node = node
        self.moving = Output(node, kind, '/tf')
        self._fixed = Output(node, kind, '/tf_static', LATCHED)
        self._published: tuple[LinkTree, str] | None = None

    def all(self) -> list[Output]:
        """Return both publishers."""
        return [self.moving, self._fixed]

    def close(self) -> None:
        """Destroy both publishers."""
        for output in self.all():
            output.close()

    def publish_fixed(self, tree: LinkTree, prefix: str) -> None:
        """Publish the fixed transforms of a tree on /tf_static, unless they were published last."""
        if (
            self._published is not None
            and self._published[0] is tree
            and self._published[1] == prefix
        ):
            return
        self._published = tree, prefix
        stamp = self._node.get_clock().now().to_msg()
        self._fixed.publish(_message(stamp, tree.fixed, tree.poses, prefix, prefix))

    def moving_message(self, tree: LinkTree, names: FrameNames, q: Array) -> KernelMessage:
        """Return the message of moving transforms, with the kernel that computes it from q (nq)."""
        assert tree.transforms is not None, 'the tree has moving links'
        paths = [f'transforms.{i}.transform' for i in range(len(tree.moving))]
        template: MessageTemplate = self.moving.template((*names, tree.moving), _empty, paths)
        return KernelMessage(template, (Step(tree.transforms, (q,), template.numbers),))


def _empty(key: tuple[str, str, Links]) -> Any:
    root, prefix, links = key
    return _message(Time(), links, [np.eye(4)] * len(links), root, prefix)


def _message(stamp: Time, links: Links, poses: Iterable[Array], root: str, prefix: str) -> Any:
    """Return the transforms of links in their parents; a parent '' is the root frame."""
    transforms = [
        transform_stamped(stamp, f'{prefix}{parent}' if parent else root, f'{prefix}{child}', pose)
        for (parent, child), pose in zip(links, poses, strict=True)
    ]
    return tf_message()(transforms=transforms)
