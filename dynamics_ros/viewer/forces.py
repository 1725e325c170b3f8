# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outputs of contact_node on the page: contact point, uncertainty of forces, torque bars."""

from __future__ import annotations

from html import escape

import numpy as np
from geometry_msgs.msg import Point, Vector3

from dynamics_ros.page.bars import Bar
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.posed import PosedRobot
from dynamics_ros.page.scene import Scene
from dynamics_ros.spatial import matrix_to_quaternion
from dynamics_ros.wire.conversions import numbers
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

STATES = {
    ContactState.NONE: 'no contact',
    ContactState.CONTACT: 'contact',
    ContactState.COLLISION: 'collision',
}

POINT_COLOR, UNCERTAINTY_COLOR = (0.85, 0.1, 0.5), (0.95, 0.6, 0.1)
POINT_DIAMETER = 0.025
CONTACT_POINT = 'contact point'

DEVIATIONS = 2.0
"""Semi-axes of the uncertainty ellipsoid, in standard deviations."""


class Forces:
    """Draws the latest contact state and wrench estimates of contact_node.

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
        self._scene, self._scale = scene, force_scale
        self._prefix = frame_prefix
        self.contact: ContactState | None = None
        self._wrenches: dict[str, ExternalWrench] = {}

    def keep_wrench(self, message: ExternalWrench) -> None:
        """Store an estimate for the next picture if its force and reference point are finite."""
        if is_finite(message.wrench.force) and is_finite(message.reference_point):
            self._wrenches[message.frame] = message

    def keep_contact(self, message: ContactState) -> None:
        """Store a contact state for the next picture, unless its lists or its point are invalid."""
        numbers = len(message.external_torques), len(message.contact_thresholds)
        fits = numbers == (len(message.joint_names),) * 2
        if fits and (is_finite(message.point) or not message.point_known):
            self.contact = message

    def summary(self) -> str:
        """Contact state in one line of HTML; '' before the first message."""
        contact = self.contact
        if contact is None:
            return ''
        where = f' at {escape(contact.link)}' if contact.link and contact.state else ''
        latched = ', latched until reset' if contact.collision_latched else ''
        return f'<b>{STATES.get(contact.state, "")}</b>{where}{latched}'

    def draw(self, posed: PosedRobot, explorer: Explorer) -> None:
        """Update the drawn contact and the torque bars."""
        contact = self.contact
        if contact is not None:
            self._draw_point(posed, contact)
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            torques = dict(zip(contact.joint_names, map(Bar._make, pairs), strict=True))
            explorer.set_torques(None, torques)
        for frame, wrench in self._wrenches.items():
            self._draw_uncertainty(posed, frame, wrench)

    def _draw_point(self, posed: PosedRobot, contact: ContactState) -> None:
        frame = contact.point_frame_id.removeprefix(self._prefix)
        if contact.point_known and posed.frame_pose(frame) is not None:
            point = numbers(contact.point, 'point')
            self._scene.show_sphere(CONTACT_POINT, frame, point, POINT_DIAMETER, POINT_COLOR)
        else:
            self._scene.remove(CONTACT_POINT)

    def _draw_uncertainty(self, posed: PosedRobot, frame: str, message: ExternalWrench) -> None:
        """Draw the uncertainty ellipsoid of a force at the arrow tip; not if degraded."""
        name = f'uncertainty of {frame}'
        axes = message.header.frame_id.removeprefix(self._prefix)
        pose = posed.frame_pose(axes)
        covariance = np.reshape(message.covariance, (6, 6))[:3, :3]
        if pose is None or message.degraded or not np.isfinite(covariance).all():
            self._scene.remove(name)
            return
        force = numbers(message.wrench.force, 'force')
        tip = numbers(message.reference_point, 'reference_point') + self._scale * force
        if axes == posed.robot.root_frame:
            stamp = message.header.stamp
            at = stamp.sec + 1e-9 * stamp.nanosec
            carried, frame_then = posed.carrier(tip - self._scale * force, at)
            tip = (tip - frame_then[:3, 3]) @ frame_then[:3, :3]
            covariance = frame_then[:3, :3].T @ covariance @ frame_then[:3, :3]
            axes = carried
        variances, directions = np.linalg.eigh(covariance)
        if np.linalg.det(directions) < 0.0:
            directions[:, 0] *= -1.0
        x, y, z, w = matrix_to_quaternion(directions)
        radii = DEVIATIONS * self._scale * np.sqrt(np.maximum(variances, 0.0))
        self._scene.show_ellipsoid(
            name, axes, tip, np.array([w, x, y, z]), radii, UNCERTAINTY_COLOR
        )


def is_finite(message: Vector3 | Point) -> bool:
    """Whether all coordinates of a vector or point are finite."""
    return bool(np.isfinite((message.x, message.y, message.z)).all())
