# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of frames outside of the model, from tf if tf2_ros is installed."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from dynamics_ros.nodes.reporting.clocks import NodeTime, age
from dynamics_ros.nodes.reporting.middleware_errors import MIDDLEWARE_ERRORS, describe_error
from dynamics_ros.nodes.reporting.results import TransformError
from dynamics_ros.wire.conversions import Array, transform_matrix


class Transforms:
    """Transforms from tf, subscribed to when the first one is needed.

    Receiving /tf costs CPU time, and most processes never need a frame outside of the model.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._tf2: ModuleType | None = None
        self._buffer: Any = None
        self._listener: Any = None
        self._time = NodeTime(node, on_reset=self._clear)
        self._refusal = ''

    def subscribe(self) -> None:
        """Subscribe to tf unless that is done already; called in the executor's thread.

        Raises:
            TransformError: tf2_ros is not installed, or the middleware refuses the subscription.
        """
        if self._refusal:
            raise TransformError(self._refusal)
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
            self._refusal = f'tf cannot be listened to: {describe_error(error)}'
            raise TransformError(self._refusal) from None

    def _clear(self) -> None:
        """Clear the buffer after the clock went back: old transforms would hide the new ones."""
        if self._buffer is not None:
            self._buffer.clear()

    def pose(
        self, parent: str, child: str, timeout: float = 0.0, max_age: float = math.inf
    ) -> Array:
        """Return the latest pose (4, 4) of frame ``child`` in frame ``parent``.

        Args:
            parent, child: names of the frames.
            timeout: time to wait for the transform [s]; nonzero only outside of the executor's
                thread.
            max_age: maximum difference between its stamp and now, in either direction [s]; static
                transforms have no age.

        Raises:
            TransformError: tf has no such transform, or it is too old.
        """
        assert self._tf2 is not None, 'subscribe() must be called first'
        try:
            message = self._buffer.lookup_transform(
                parent, child, Time(), Duration(seconds=timeout)
            )
        except self._tf2.TransformException as error:
            raise TransformError(
                f'{child!r} is no frame of the model, and tf does not know it: {error}'
            ) from None
        stamp = Time.from_msg(message.header.stamp).nanoseconds
        old = age(self._time.now(), stamp, ahead=max_age) if stamp else 0.0
        if old > max_age:
            what = 'older than' if math.isfinite(old) else 'ahead of now by more than'
            # States the stamp, not the age: a text that always changes would fill the log.
            raise TransformError(
                f'tf of {child!r} is of {stamp * 1e-9:.3f} s, which is {what} {max_age:g} s'
            )
        return transform_matrix(message.transform, f'tf of {child!r}')
