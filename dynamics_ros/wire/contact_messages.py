# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Message templates of contact_node, with the copies of estimates into their changing fields."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, WrenchStamped

from dynamics_ros.estimation import (
    ContactLocation,
    ContactPipeline,
    ContactReport,
    ExternalTorques,
    FootContacts,
    WrenchEstimate,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Copy
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench
from dynamics_ros_msgs.msg import FootContacts as FootContactsMessage

from .conversions import Array, empty_efforts, header, vector_message, wrench_stamped
from .message_template import MessageTemplate

STATE_NUMBERS = (
    *('external_torques', 'contact_thresholds', 'collision_thresholds'),
    *('link_probability', 'misfit', 'point', 'normal', 'force', 'point_deviation'),
)
ESTIMATE_NUMBERS = ('wrench', 'reference_point', 'covariance', 'singular_values', 'tare_offset')
FEET_NUMBERS = (
    *('forces', 'force_deviations', 'constraint_forces'),
    *('probabilities', 'friction_violations'),
)
EFFORT, WRENCH = ('effort',), ('wrench',)
"""Numeric fields of the messages, which change with every state."""

ORIGIN = np.zeros(3)

Templates = Callable[[Hashable, Callable[[Any], Any], Sequence[str]], MessageTemplate]
"""Function that returns the template of a key, such as ``Output.template``.

Its arguments are the key, a function that makes the message of a key, and the changing fields.
"""


class StateArrays(NamedTuple):
    """Fixed arrays of the latest state, from which kernels and copies fill the messages.

    Attributes:
        q, v: configuration (nq) and velocity (nv).
        tau: torques of the joints on the rigid bodies (nv), for robots with feet [Nm or N].
        torques: external torques (nv) [Nm or N].
        thresholds: thresholds of contact and of collision (2, nv) [Nm or N].
        offset: offset of the tare (nv) [Nm or N].
    """

    q: Array
    v: Array
    tau: Array
    torques: Array
    thresholds: Array
    offset: Array

    @classmethod
    def zeros(cls, nq: int, nv: int) -> StateArrays:
        """Return arrays of zeros for a robot with ``nq`` coordinates and ``nv`` velocities."""
        v, tau, torques, offset = np.zeros((4, nv))
        return cls(np.zeros(nq), v, tau, torques, np.zeros((2, nv)), offset)


class Estimated(NamedTuple):
    """Latest estimates.

    Attributes:
        pipeline: the estimators.
        state: the state that they are about.
        external: external torques.
        arrays: arrays from which messages are filled.
    """

    pipeline: ContactPipeline
    state: RobotState
    external: ExternalTorques
    arrays: StateArrays


class FeetKey(NamedTuple):
    """Content of FootContacts other than numbers; a new value needs a new template."""

    frame_id: str
    feet: tuple[str, ...]
    in_contact: tuple[bool, ...]
    degraded: bool


class StateKey(NamedTuple):
    """Content of ContactState other than numbers; a new value needs a new template."""

    frame_id: str
    state: int
    link: str
    point_known: bool
    point_frame_id: str
    collision_latched: bool
    joint_names: tuple[str, ...]


class EstimateKey(NamedTuple):
    """Content of ExternalWrench other than numbers; a new value needs a new template.

    Attributes:
        frame_id: frame in which the wrench is expressed.
        frame: name of the contact frame.
        flags: bytes of the flags of the estimator, float64: observable axes (6), then degraded.
        singular_values: number of singular values.
        joint_names: names of the joints in the tare offset.
        stale_joints: names of the stale joints.
        distrusted: whether the estimate of the frame is unreliable.
    """

    frame_id: str
    frame: str
    flags: bytes
    singular_values: int
    joint_names: tuple[str, ...]
    stale_joints: tuple[str, ...]
    distrusted: bool


class CopiedMessage(NamedTuple):
    """Message template with the copies that write its numbers.

    Attributes:
        template: the message.
        copies: copies from fixed arrays into the message.
    """

    template: MessageTemplate
    copies: tuple[Copy, ...]

    def filled(self) -> MessageTemplate:
        """Run the copies and return the template."""
        for source, target in self.copies:
            target[...] = source.reshape(target.shape)
        return self.template


def _copies(source: Array, entries: Any, target: Array) -> Iterator[Copy]:
    """Yield copies of selected entries of one array to consecutive entries of another.

    Args:
        source: array of values (n).
        entries: slice, or array of indices, of the entries.
        target: array (m) of as many entries.
    """
    if isinstance(entries, slice):
        yield Copy(source[entries], target)
        return
    for i, entry in enumerate(entries.tolist()):
        yield Copy(source[entry : entry + 1], target[i : i + 1])


def contact_state_message(
    templates: Templates,
    pipeline: ContactPipeline,
    report: ContactReport,
    torques: Array,
    thresholds: Array,
    location: ContactLocation | None,
    known: bool,
    frame_id: str,
    point_frame_id: str,
) -> CopiedMessage:
    """Return ContactState with the copies of torques and thresholds; write its contact location.

    Args:
        templates: returns the template of a key.
        pipeline: the estimators.
        report: the detected contact.
        torques: external torques (nv).
        thresholds: thresholds of contact and of collision (2, nv).
        location: location of the contact, or None.
        known: whether the point of the location is reliable.
        frame_id: frame id of the root.
        point_frame_id: frame id of the link with the point; '' without a location.
    """
    names, link = pipeline.joint_names, location.link if location else report.link
    latched = report.collision_latched
    key = StateKey(frame_id, int(report.state), link, known, point_frame_id, latched, names)
    template = templates(key, empty_state, STATE_NUMBERS)
    torque, contact, collision, *where = template.numbers
    for numbers, value in zip(where, _location_numbers(location), strict=True):
        numbers[:] = value
    order = pipeline.joint_indices
    pairs = (torques, torque), (thresholds[0], contact), (thresholds[1], collision)
    return CopiedMessage(
        template, tuple(copy for one, target in pairs for copy in _copies(one, order, target))
    )


def foot_contacts_message(
    templates: Templates, contacts: FootContacts, stale: tuple[str, ...], frame_id: str
) -> CopiedMessage:
    """Return FootContacts with the copies of an estimate.

    Args:
        templates: returns the template of a key.
        contacts: the estimate; its arrays are the sources of the copies.
        stale: names of the stale joints.
        frame_id: frame id of the root, in which the forces are expressed.
    """
    standing = tuple(contacts.in_contact.tolist())
    key = frame_id, contacts.feet, standing, bool(contacts.degraded or stale)
    template = templates(key, empty_feet, FEET_NUMBERS)
    values = (
        *(contacts.forces, contacts.deviations, contacts.constraint_forces),
        *(contacts.probabilities, contacts.friction_violations),
    )
    return CopiedMessage(template, tuple(map(Copy, values, template.numbers)))


def true_foot_contacts(
    stamp: Time, frame_id: str, wrenches: Mapping[str, Array | None]
) -> FootContactsMessage:
    """Return the FootContacts of a simulation, without deviations.

    Args:
        stamp: time of the message.
        frame_id: frame in which the wrenches are expressed.
        wrenches: name of each foot to the wrench of the ground (6), or None for a foot in the air.
    """
    forces = [
        vector_message(np.zeros(3) if wrench is None else wrench[:3])
        for wrench in wrenches.values()
    ]
    touching = [wrench is not None for wrench in wrenches.values()]
    none = [0.0] * len(touching)
    return FootContactsMessage(
        header=header(stamp, frame_id),
        feet=list(wrenches),
        forces=forces,
        force_deviations=none,
        constraint_forces=forces,
        probabilities=[float(x) for x in touching],
        in_contact=touching,
        friction_violations=none,
        degraded=False,
    )


def external_wrench_message(
    templates: Templates,
    pipeline: ContactPipeline,
    stale: tuple[str, ...],
    offset: Array,
    estimate: WrenchEstimate,
    frame_id: str,
) -> CopiedMessage:
    """Return ExternalWrench with the copies of an estimate.

    Args:
        templates: returns the template of a key.
        pipeline: the estimators.
        stale: names of the stale joints.
        offset: offset of the tare (nv).
        estimate: the estimate; its arrays are the sources of the copies.
        frame_id: frame in which the estimate is expressed.
    """
    singular, names = estimate.singular_values, pipeline.joint_names
    flags, distrusted = estimate.flags.tobytes(), estimate.frame in pipeline.distrusted
    key = frame_id, estimate.frame, flags, singular.size, names, stale, distrusted
    template = templates(key, empty_estimate, ESTIMATE_NUMBERS)
    *numbers, offsets = template.numbers
    values = estimate.wrench, estimate.reference_point, estimate.covariance, singular
    return CopiedMessage(
        template,
        (*map(Copy, values, numbers), *_copies(offset, pipeline.joint_indices, offsets)),
    )


def wrench_stamped_message(
    templates: Templates, estimate: WrenchEstimate, frame_id: str
) -> CopiedMessage:
    """Return WrenchStamped with the copy of a wrench (6) expressed in frame ``frame_id``."""
    template = templates(frame_id, empty_wrench, WRENCH)
    return CopiedMessage(template, (Copy(estimate.wrench, template.numbers[0]),))


def efforts_message(
    templates: Templates, pipeline: ContactPipeline, efforts: Array
) -> CopiedMessage:
    """Return JointState with the copies of torques (nv), such as external torques, as efforts."""
    template = templates(pipeline.joint_names, empty_efforts, EFFORT)
    return CopiedMessage(
        template, tuple(_copies(efforts, pipeline.joint_indices, template.numbers[0]))
    )


def empty_feet(values: tuple[Any, ...]) -> FootContactsMessage:
    """Return FootContacts of a ``FeetKey`` with zeros for numbers."""
    key = FeetKey(*values)
    zeros = [0.0] * len(key.feet)
    return FootContactsMessage(
        header=header(Time(), key.frame_id),
        feet=list(key.feet),
        forces=[Vector3() for _ in key.feet],
        force_deviations=zeros,
        constraint_forces=[Vector3() for _ in key.feet],
        probabilities=zeros,
        in_contact=list(key.in_contact),
        friction_violations=zeros,
        degraded=key.degraded,
    )


def empty_state(values: tuple[Any, ...]) -> ContactStateMessage:
    """Return ContactState of a ``StateKey`` with zeros for numbers."""
    key = StateKey(*values)
    zeros = [0.0] * len(key.joint_names)
    return ContactStateMessage(
        header=header(Time(), key.frame_id),
        state=key.state,
        link=key.link,
        point_known=key.point_known,
        point_frame_id=key.point_frame_id,
        collision_latched=key.collision_latched,
        joint_names=list(key.joint_names),
        external_torques=zeros,
        contact_thresholds=zeros,
        collision_thresholds=zeros,
    )


def _location_numbers(location: ContactLocation | None) -> tuple[Any, ...]:
    """Return link_probability, misfit, point, normal, force, point_deviation of a ContactState."""
    if location is None:
        return 0.0, 0.0, ORIGIN, ORIGIN, ORIGIN, np.inf
    return (
        location.probability,
        location.misfit,
        location.point,
        location.normal,
        location.force,
        location.deviation,
    )


def empty_wrench(frame_id: str) -> WrenchStamped:
    """Return WrenchStamped with a wrench of zeros."""
    return wrench_stamped(Time(), frame_id, np.zeros(6))


def empty_estimate(values: tuple[Any, ...]) -> ExternalWrench:
    """Return ExternalWrench of an ``EstimateKey`` with zeros for numbers."""
    key = EstimateKey(*values)
    *observable, degraded = np.frombuffer(key.flags) > 0.5
    return ExternalWrench(
        header=header(Time(), key.frame_id),
        frame=key.frame,
        covariance=np.zeros(36),
        singular_values=[0.0] * key.singular_values,
        observable=[bool(x) for x in observable],
        degraded=bool(degraded or key.stale_joints or key.distrusted),
        joint_names=list(key.joint_names),
        tare_offset=[0.0] * len(key.joint_names),
        stale_joints=list(key.stale_joints),
    )
