# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of contact_node, and the arrays from which they are filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from dynamics_ros.estimation import ContactLocation, ContactPipeline, ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels.program import Step
from dynamics_ros.wire.conversions import (
    Array,
    empty_efforts,
    fill,
    header,
    stamped,
)
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench
from dynamics_ros_msgs.msg import FootContacts as FootContactsMessage

from .cdr import Fields, Message, entries

YES = np.ones(1)
"""Source of a flag that is set."""

KINDS = {
    'external_torques': JointState,
    'contact_state': ContactStateMessage,
    'foot_contacts': FootContactsMessage,
    'wrench': WrenchStamped,
    'estimate': ExternalWrench,
}
"""Type of the messages of each topic, by its last part."""


class ContactMessages:
    """Messages of contact_node for one robot.

    Attributes:
        by_output: message of each topic, by contact frame, '' if there is none, and last part of
            the name; those of wrenches and feet once their kernels are compiled.
    """

    def __init__(self, pipeline: ContactPipeline, frame_id_of: Callable[[str], str]) -> None:
        """Create arrays and messages.

        Args:
            pipeline: the estimators.
            frame_id_of: returns the frame id of a frame of the robot, also of the root frame.
        """
        robot = pipeline.robot
        self._pipeline, self._frame_id_of = pipeline, frame_id_of
        self._q = np.zeros(robot.nq)
        self._v, self._tau, self._torques, self._offset = np.zeros((4, robot.nv))
        self._thresholds = np.zeros((2, robot.nv))
        self._flags, self._location = np.zeros(3), np.zeros(12)
        self._wrenches: Step | None = None
        self._feet: Step | None = None
        self._add_compiled()
        self._written: ContactLocation | None = None
        self._write_location(None)
        self._place = '', ''  # touched link, and frame of the contact point or ''
        self._stale: tuple[str, ...] = ()
        self._sources: tuple[Any, ...] = ()  # of what is constant in the messages
        self.renew()

    @property
    def has_wrenches(self) -> bool:
        """Whether there are messages of wrenches."""
        return self._wrenches is not None

    def _add_compiled(self) -> None:
        """Add the steps whose kernels have been compiled since."""
        pipeline, feet = self._pipeline, self._pipeline.feet
        if self._wrenches is None and pipeline.estimator.ready:
            self._wrenches = pipeline.estimator.step(self._q, self._torques)
        if feet is not None and self._feet is None and feet.ready:
            self._feet = feet.step(self._q, self._v, self._torques, self._tau)

    def renew(self) -> None:
        """Make the messages anew, because names of frames have changed."""
        pipeline, place, thresholds = self._pipeline, self._location, self._thresholds
        order = pipeline.joint_indices
        efforts = partial(empty_efforts, pipeline.joint_names)
        state: Fields = {
            'state': self._flags[:1],
            'point_known': self._flags[1:2],
            'collision_latched': self._flags[2:],
            'link_probability': place[:1],
            'misfit': place[1:2],
            'point': place[2:5],
            'normal': place[5:8],
            'force': place[8:11],
            'point_deviation': place[11:],
            'external_torques': entries(self._torques, order),
            'contact_thresholds': entries(thresholds[0], order),
            'collision_thresholds': entries(thresholds[1], order),
        }
        self.by_output = {
            ('', 'external_torques'): Message(efforts, {'effort': entries(self._torques, order)}),
            ('', 'contact_state'): Message(self._empty_state, state),
        }
        if self._wrenches is not None:
            for i, one in enumerate(pipeline.estimator.latest):
                step, wrench = (self._wrenches,), partial(self._empty_wrench, i)
                estimate = partial(self._empty_estimate, i)
                self.by_output[one.frame, 'wrench'] = Message(wrench, {'wrench': one.wrench}, step)
                self.by_output[one.frame, 'estimate'] = Message(estimate, self._estimate(i), step)
        if self._feet is not None:
            feet = Message(self._empty_feet, self._feet_fields(), (self._feet,))
            self.by_output['', 'foot_contacts'] = feet

    def write(
        self,
        state: RobotState,
        external: ExternalTorques,
        location: ContactLocation | None,
    ) -> bool:
        """Write the latest state to the arrays.

        Args:
            state: the estimated state.
            external: external torques.
            location: location of the contact, or None.

        Returns:
            Whether ``by_output`` is new, because names have changed or kernels were compiled.
        """
        pipeline, report = self._pipeline, external.report
        self._q[:], self._torques[:] = state.q, external.values
        self._thresholds[:] = pipeline.detector.thresholds
        self._flags[0], self._flags[2] = report.state, report.collision_latched
        self._offset[:] = pipeline.tare.offset
        if location is not self._written:
            self._write_location(location)
        if self._wrenches is None or (self._feet is None and pipeline.feet is not None):
            self._add_compiled()
        if self._wrenches is not None:
            pipeline.estimator.prepare_step(*pipeline.noise_at(state))
        if self._feet is not None and pipeline.feet is not None:
            self._v[:] = state.v
            self._tau[:] = pipeline.observer.torque_on_bodies(state.q, state.v, state.effort)
            pipeline.feet.prepare_step(state.stale_mask)
        place = (location.link, location.point_frame) if location else (report.link, '')
        uncertain, count = pipeline.uncertain_frames, pipeline.estimator.joint_count
        sources = place, state.stale, uncertain, count, self._wrenches, self._feet
        if sources == self._sources:
            return False
        self._place, self._stale, self._sources = place, state.stale, sources
        self.renew()
        return True

    def _write_location(self, location: ContactLocation | None) -> None:
        place, self._written = self._location, location
        self._flags[1] = location is not None and location.known
        if location is None:
            place[:11], place[11] = 0.0, np.inf
            return
        place[:2], place[11] = (location.probability, location.misfit), location.deviation
        place[2:5], place[5:8], place[8:11] = location.point, location.normal, location.force

    def _empty_state(self) -> ContactStateMessage:
        joints, (link, point_frame) = self._pipeline.joint_names, self._place
        zeros = [0.0] * len(joints)
        return ContactStateMessage(
            header=header(Time(), self._root),
            link=link,
            point_frame_id=point_frame and self._frame_id_of(point_frame),
            joint_names=list(joints),
            external_torques=zeros,
            contact_thresholds=zeros,
            collision_thresholds=zeros,
        )

    def _empty_wrench(self, i: int) -> WrenchStamped:
        axes = self._frame_id_of(self._pipeline.estimator.axes[i])
        return stamped(WrenchStamped, Time(), axes, np.zeros(6))

    def _empty_estimate(self, i: int) -> ExternalWrench:
        joints = self._pipeline.joint_names
        singular_values = self._pipeline.estimator.latest[i].singular_values
        return ExternalWrench(
            header=self._empty_wrench(i).header,
            frame=self._pipeline.frames[i],
            covariance=np.zeros(36),
            singular_values=[0.0] * len(singular_values),
            joint_names=list(joints),
            tare_offset=[0.0] * len(joints),
            stale_joints=list(self._stale),
        )

    def _estimate(self, i: int) -> Fields:
        estimate, order = self._pipeline.estimator.latest[i], self._pipeline.joint_indices
        degraded = self._stale or estimate.frame in self._pipeline.uncertain_frames
        return {
            'wrench': estimate.wrench,
            'reference_point': estimate.reference_point,
            'covariance': estimate.covariance,
            'singular_values': estimate.singular_values,
            'observable': estimate.flags[:6],
            'degraded': YES if degraded else estimate.flags[6:],
            'tare_offset': entries(self._offset, order),
        }

    def _empty_feet(self) -> FootContactsMessage:
        assert self._pipeline.feet is not None
        return _no_contacts(header(Time(), self._root), self._pipeline.feet.feet)

    def _feet_fields(self) -> Fields:
        assert self._pipeline.feet is not None
        forces, deviations, held, probabilities, touching, violations, degraded = (
            self._pipeline.feet.results
        )
        return {
            'forces': forces,
            'force_deviations': deviations,
            'constraint_forces': held,
            'probabilities': probabilities,
            'in_contact': touching,
            'friction_violations': violations,
            'degraded': YES if self._stale else degraded.reshape(1),
        }

    @property
    def _root(self) -> str:
        return self._frame_id_of(self._pipeline.robot.root_frame)


def true_foot_contacts(
    stamp: Time, frame_id: str, wrenches: Mapping[str, Array | None]
) -> FootContactsMessage:
    """Return the FootContacts of a simulation, without deviations.

    Args:
        stamp: time of the message.
        frame_id: frame in which the wrenches are expressed.
        wrenches: name of each foot to the wrench of the ground (6), or None for a foot in the air.
    """
    message = _no_contacts(header(stamp, frame_id), list(wrenches))
    for i, wrench in enumerate(wrenches.values()):
        if wrench is not None:
            message.in_contact[i], message.probabilities[i] = True, 1.0
            fill(message.forces[i], wrench[:3])
            fill(message.constraint_forces[i], wrench[:3])
    return message


def _no_contacts(head: Header, feet: Sequence[str]) -> FootContactsMessage:
    zeros = [0.0] * len(feet)
    return FootContactsMessage(
        header=head,
        feet=list(feet),
        forces=[Vector3() for _ in feet],
        force_deviations=zeros,
        constraint_forces=[Vector3() for _ in feet],
        probabilities=zeros,
        in_contact=[False] * len(feet),
        friction_violations=zeros,
    )
