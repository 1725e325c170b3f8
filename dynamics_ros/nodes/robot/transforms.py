# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where frames that the model does not have are, from tf: where tf2_ros is installed."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from dynamics_ros.nodes.reporting.clocks import NodeTime, age
from dynamics_ros.nodes.reporting.middleware_errors import MIDDLEWARE_ERRORS, in_words
from dynamics_ros.nodes.reporting.results import TransformError
from dynamics_ros.wire.conversions import Array, transform_matrix


class Transforms:
    """Listens to tf from the first time that it is asked.

    Every message on /tf costs the process that listens, and few ever name a foreign frame.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tf2: ModuleType | None = None
        self._buffer: Any = None
        self._listener: Any = None
        self._time = NodeTime(node, on_reset=self._forget)
        self._deaf = ''

    def listen(self) -> None:
        """Begin to listen, if that has not happened yet; called in the executor's thread.

        Raises:
            TransformError: tf2_ros is not installed, or the middleware does not let it listen.
        """
        if self._deaf:
            raise TransformError(self._deaf)
        if self._buffer is not None:
            return
        try:
            import tf2_ros
        except ImportError:
            raise TransformError(
                'tf2_ros is not installed, so that only frames of the model are known'
            ) from None
        self._tf2 = tf2_ros
        self._buffer = tf2_ros.Buffer()
        try:
            self._listener = tf2_ros.TransformListener(self._buffer, self._node)
        except MIDDLEWARE_ERRORS as error:
            self._deaf = f'tf cannot be listened to: {in_words(error)}'
            raise TransformError(self._deaf) from None

    def _forget(self) -> None:
        """Forget what is known: it lies ahead now, and would hide what is told from now on."""
        if self._buffer is not None:
            self._buffer.clear()

    def pose(
        self, parent: str, child: str, patience: float = 0.0, max_age: float = math.inf
    ) -> Array:
        """Pose (4, 4) of a frame in another, the latest that tf has.

        Args:
            parent, child: names of the frames.
            patience: s to wait for it; only in a thread other than the executor's.
            max_age: s by its stamp, before or after now; what is static has no age.

        Raises:
            TransformError: tf does not know, or has not heard of it for too long.
        """
        assert self._tf2 is not None, 'listen() comes first'
        try:
            message = self._buffer.lookup_transform(
                parent, child, Time(), Duration(seconds=patience)
            )
        except self._tf2.TransformException as error:
            raise TransformError(
                f'{child!r} is no frame of the model, and tf does not know it: {error}'
            ) from None
        stamp = Time.from_msg(message.header.stamp).nanoseconds
        old = age(self._time.now(), stamp, ahead=max_age) if stamp else 0.0
        if old > max_age:
            what = 'older than' if math.isfinite(old) else 'ahead of now by more than'
            # When, not how old: a text that changes at every look would fill logs.
            raise TransformError(
                f'tf of {child!r} is of {stamp * 1e-9:.3f} s, which is {what} {max_age:g} s'
            )
        return transform_matrix(message.transform, f'tf of {child!r}')
