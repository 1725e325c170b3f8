# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic ``~/foot_contacts`` of contact_node."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from rclpy.node import Node

from dynamics_ros.kernels import Step
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.plan import NOTHING, Group, KernelMessage
from dynamics_ros.wire.contact_messages import Estimated, foot_contacts_message
from dynamics_ros_msgs.msg import FootContacts


class FeetOutput:
    """Publishes contacts of feet and forces on them, by one kernel.

    Attributes:
        output: the publisher.
    """

    def __init__(self, node: Node, latest: Callable[[], Estimated]) -> None:
        """Create the publisher; ``latest`` returns the latest estimates, once there are some."""
        self.output = Output(node, FootContacts, '~/foot_contacts')
        self._latest = latest
        self._step: Step | None = None

    def adopt(self) -> None:
        """Switch to new estimators, those of the next estimates."""
        self._step = None

    def group(self, rate: float, root: str, write_arrays: Callable[[], None]) -> Group:
        """Return the output for a plan; requires a robot with feet.

        Args:
            rate: maximum rate [Hz].
            root: frame id of the root, in which the forces are expressed.
            write_arrays: writes the latest state to the arrays.
        """
        build, before = partial(self._message, root), (write_arrays, self._prepare)
        return Group(self.output, rate, NOTHING, 'feet', build, None, before, self._variant)

    def _prepare(self) -> None:
        """Write the inputs that only feet have."""
        pipeline, state, _, arrays = self._latest()
        arrays.v[:] = state.v
        arrays.tau[:] = pipeline.observer.torque_on_bodies(state.q, state.v, state.effort)
        if self._step is not None and pipeline.feet is not None:
            pipeline.feet.prepare_step(state.stale_mask)

    def _variant(self) -> Hashable:
        """Return the content that requires a new message when it changes."""
        pipeline, state, _, _ = self._latest()
        flags = None if self._step is None or pipeline.feet is None else pipeline.feet.flags
        return flags, state.stale

    def _message(self, root: str) -> KernelMessage | None:
        """Return the message with its kernel; None while the kernel is being compiled."""
        pipeline, state, _, arrays = self._latest()
        feet = pipeline.feet
        if feet is None or not feet.ready:
            return None
        if self._step is None:
            self._step = feet.step(arrays.q, arrays.v, arrays.torques, arrays.tau)
            self._prepare()
        template, copies = foot_contacts_message(
            self.output.template, feet.latest, state.stale, root
        )
        return KernelMessage(template, (self._step, *copies))
