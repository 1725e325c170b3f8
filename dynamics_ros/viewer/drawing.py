# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws the outputs of contact_node in the frames of a robot: forces and the contact point."""

from __future__ import annotations

from html import escape

import numpy as np
from geometry_msgs.msg import Point, Vector3

from dynamics_ros.page.bars import Bar
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.scene import Scene, arrow, sphere
from dynamics_ros.wire.conversions import numbers
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

FARTHEST = 1e6
"""N or m: browsers compute in single precision."""

STATES = {
    ContactState.NONE: ('no contact', (0.6, 0.6, 0.6)),
    ContactState.CONTACT: ('contact', (1.0, 0.7, 0.1)),
    ContactState.COLLISION: ('collision', (0.9, 0.2, 0.2)),
}
"""Text and colour of the arrows for each contact state."""

POINT_COLOR = (0.85, 0.1, 0.5)
POINT_DIAMETER, ARROW_DIAMETER = 0.025, 0.02
CONTACT_POINT = 'contact point'

SHORTEST = 0.005
"""Length below which an arrow is not drawn [m]."""


class Drawing:
    """Draws the latest contact state and the latest wrench estimate of each contact frame.

    An arrow ends at the point where its force acts, and moves along with its contact frame.

    Attributes:
        contact: the latest valid contact state, or None.
    """

    def __init__(self, scene: Scene, force_scale: float, frame_prefix: str) -> None:
        """Start without messages.

        Args:
            scene: the scene to draw in.
            force_scale: length of arrows per force [m/N].
            frame_prefix: prefix of frame names in messages.
        """
        self._scene, self._scale, self._prefix = scene, force_scale, frame_prefix
        self.contact: ContactState | None = None
        self._wrenches: dict[str, ExternalWrench] = {}

    def keep_wrench(self, message: ExternalWrench) -> None:
        """Store an estimate for the next picture if it can be drawn."""
        if _is_drawable(message.wrench.force) and _is_drawable(message.reference_point):
            self._wrenches[message.frame] = message

    def keep_contact(self, message: ContactState) -> None:
        """Store a contact state for the next picture, unless its lists or its point are invalid."""
        counts = len(message.external_torques), len(message.contact_thresholds)
        fits = counts == (len(message.joint_names),) * 2
        if fits and (_is_drawable(message.point) or not message.point_known):
            self.contact = message

    def summary(self) -> str:
        """Contact state in one line of HTML; '' before the first message."""
        contact = self.contact
        if contact is None:
            return ''
        where = f' at {escape(contact.link)}' if contact.link and contact.state else ''
        latched = ', latched until reset' if contact.collision_latched else ''
        return f'<b>{STATES.get(contact.state, ("",))[0]}</b>{where}{latched}'

    def draw(self, explorer: Explorer) -> None:
        """Draw forces and the contact point, and set the external torques of the bars."""
        contact, state = self.contact, ContactState.NONE
        if contact is not None:
            frame, state = contact.point_frame_id.removeprefix(self._prefix), contact.state
            if contact.point_known and explorer.frame_pose(frame) is not None:
                look = sphere(numbers(contact.point, 'point'), POINT_DIAMETER, POINT_COLOR)
                self._scene.draw(CONTACT_POINT, frame, 'icosphere', **look)
            else:
                self._scene.remove(CONTACT_POINT)
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            torques = dict(zip(contact.joint_names, map(Bar._make, pairs), strict=True))
            explorer.set_torques(None, torques)
        for message in self._wrenches.values():
            self._draw_wrench(explorer, message, state)

    def _draw_wrench(self, explorer: Explorer, message: ExternalWrench, state: int) -> None:
        """Draw a force in its contact frame."""
        frame, name = message.frame, f'force at {message.frame}'
        own = explorer.frame_pose(message.header.frame_id.removeprefix(self._prefix))
        carrier = explorer.frame_pose(frame)
        if own is not None and carrier is not None:
            X = np.linalg.inv(carrier) @ own  # of the axes of the message in the contact frame
            tip = X[:3, :3] @ numbers(message.reference_point, 'point') + X[:3, 3]
            start = tip - self._scale * X[:3, :3] @ numbers(message.wrench.force, 'force')
            if np.linalg.norm(tip - start) > SHORTEST:
                color = STATES.get(state, STATES[ContactState.NONE])[1]
                look = arrow(np.array([start, tip]), ARROW_DIAMETER, color)
                self._scene.draw(name, frame, 'arrows', **look)
                return
        self._scene.remove(name)


def _is_drawable(vector: Vector3 | Point) -> bool:
    """Whether all coordinates are finite and not too large."""
    return bool(np.all(np.abs((vector.x, vector.y, vector.z)) <= FARTHEST))
