# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""As much of tf2_ros as the nodes use, for machines without it: the latest transforms of /tf.

One transform in each direction, no chains.
"""

from __future__ import annotations

from tf2_msgs.msg import TFMessage


class TransformException(Exception):  # noqa: N818 - named as upstream's
    """tf does not know."""


class Buffer:
    def __init__(self):
        self.known = {}

    def clear(self):
        self.known.clear()

    def can_transform(self, target_frame, source_frame, time_):
        return (target_frame, source_frame) in self.known

    def lookup_transform(self, target_frame, source_frame, time_):
        if not self.can_transform(target_frame, source_frame, time_):
            raise TransformException(f'{source_frame!r} does not exist')
        return self.known[target_frame, source_frame]


class TransformListener:
    def __init__(self, buffer, node):
        self._buffer = buffer
        node.create_subscription(TFMessage, '/tf', self._store, 100)

    def _store(self, message):
        for transform in message.transforms:
            key = transform.header.frame_id, transform.child_frame_id
            self._buffer.known[key] = transform
