# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the messages of contact_node consist of: what changes with every state, and the rest."""

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
from .templates import fill

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
"""Fields of the messages that are new for every state."""

NOWHERE = np.zeros(3)

Templates = Callable[[Hashable, Callable[[Any], Any], Sequence[str]], MessageTemplate]
"""Template of a key, made by a function, with fields that change: ``Output.template``."""


class FeetKey(NamedTuple):
    """What else is in the contacts of feet."""

    frame_id: str
    feet: tuple[str, ...]
    in_contact: tuple[bool, ...]
    degraded: bool


class StateKey(NamedTuple):
    """What else is in a contact state."""

    frame_id: str
    state: int
    link: str
    point_known: bool
    point_frame_id: str
    collision_latched: bool
    joint_names: tuple[str, ...]


class EstimateKey(NamedTuple):
    """What else is in an estimate: of the flags their bytes, of the singular values how many."""

    frame_id: str
    frame: str
    flags: bytes
    singular_values: int
    joint_names: tuple[str, ...]
    stale_joints: tuple[str, ...]
    distrusted: bool


class Sourced(NamedTuple):
    """A message, and where its numbers come from.

    Attributes:
        template: the message.
        copies: from arrays that stay into the message.
    """

    template: MessageTemplate
    copies: tuple[Copy, ...]

    def filled(self) -> MessageTemplate:
        """The message with the numbers as they are."""
        for source, target in self.copies:
            target[...] = source.reshape(target.shape)
        return self.template


def _copies(source: Array, places: Any, target: Array) -> Iterator[Copy]:
    """Some places of an array, a slice or an index, one after the other into another one."""
    if isinstance(places, slice):
        yield Copy(source[places], target)
        return
    for i, place in enumerate(places.tolist()):
        yield Copy(source[place : place + 1], target[i : i + 1])


def sourced_state(
    templates: Templates,
    pipeline: ContactPipeline,
    report: ContactReport,
    torques: Array,
    thresholds: Array,
    place: ContactLocation | None,
    known: bool,
    frame_id: str,
    point_frame_id: str,
) -> Sourced:
    """A contact state.

    Args:
        templates: where templates are kept.
        pipeline, report: what was felt.
        torques, thresholds: (nv), (2, nv) external torques and thresholds.
        place: where; None for nowhere.
        known: whether its point may be relied on.
        frame_id, point_frame_id: of the root and of the link of the place.
    """
    names, link = pipeline.joint_names, place.link if place else report.link
    latched = report.collision_latched
    key = StateKey(frame_id, int(report.state), link, known, point_frame_id, latched, names)
    template = templates(key, empty_state, STATE_NUMBERS)
    torque, contact, collision, *where = template.numbers
    for numbers, value in zip(where, _numbers_of(place), strict=True):
        numbers[:] = value
    order = pipeline.joint_indices
    pairs = (torques, torque), (thresholds[0], contact), (thresholds[1], collision)
    return Sourced(
        template, tuple(copy for one, target in pairs for copy in _copies(one, order, target))
    )


def filled_feet(
    templates: Templates, contacts: FootContacts, state: RobotState, frame_id: str
) -> MessageTemplate:
    """The contacts of feet, in the root frame of that id."""
    standing = tuple(contacts.in_contact.tolist())
    key = frame_id, contacts.feet, standing, bool(contacts.degraded or state.stale)
    template = templates(key, empty_feet, FEET_NUMBERS)
    fill(
        template,
        (
            *(contacts.forces.ravel(), contacts.deviations, contacts.constraint_forces.ravel()),
            *(contacts.probabilities, contacts.friction_violations),
        ),
    )
    return template


def true_feet(
    stamp: Time, frame_id: str, wrenches: Mapping[str, Array | None]
) -> FootContactsMessage:
    """What truly acts on feet: name to the wrench (6) of the ground, None of a foot in the air."""
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


def sourced_estimate(
    templates: Templates,
    pipeline: ContactPipeline,
    stale: tuple[str, ...],
    offset: Array,
    estimate: WrenchEstimate,
    frame_id: str,
) -> Sourced:
    """An estimate, expressed in the frame of that id.

    Args:
        templates: where templates are kept.
        pipeline: what estimates.
        stale: joints that are.
        offset: (nv) of the tare.
        estimate: the estimate.
        frame_id: as above.
    """
    singular, names = estimate.singular_values, pipeline.joint_names
    flags, distrusted = estimate.flags.tobytes(), estimate.frame in pipeline.distrusted
    key = frame_id, estimate.frame, flags, singular.size, names, stale, distrusted
    template = templates(key, empty_estimate, ESTIMATE_NUMBERS)
    *numbers, offsets = template.numbers
    values = estimate.wrench, estimate.reference_point, estimate.covariance, singular
    return Sourced(
        template,
        (*map(Copy, values, numbers), *_copies(offset, pipeline.joint_indices, offsets)),
    )


def sourced_wrench(templates: Templates, estimate: WrenchEstimate, frame_id: str) -> Sourced:
    """The wrench alone, expressed in the frame of that id."""
    template = templates(frame_id, empty_wrench, WRENCH)
    return Sourced(template, (Copy(estimate.wrench, template.numbers[0]),))


def sourced_efforts(templates: Templates, pipeline: ContactPipeline, efforts: Array) -> Sourced:
    """Torques (nv), such as external ones, as a joint state."""
    template = templates(pipeline.joint_names, empty_efforts, EFFORT)
    return Sourced(template, tuple(_copies(efforts, pipeline.joint_indices, template.numbers[0])))


def empty_feet(values: tuple[Any, ...]) -> FootContactsMessage:
    """Contacts of feet without their numbers."""
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
    """A contact state without its numbers."""
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


def _numbers_of(place: ContactLocation | None) -> tuple[Any, ...]:
    """link_probability, misfit, point, normal, force, point_deviation of a contact state."""
    if place is None:
        return 0.0, 0.0, NOWHERE, NOWHERE, NOWHERE, np.inf
    return place.probability, place.misfit, place.point, place.normal, place.force, place.deviation


def empty_wrench(frame_id: str) -> WrenchStamped:
    """A wrench without its numbers."""
    return wrench_stamped(Time(), frame_id, np.zeros(6))


def empty_estimate(values: tuple[Any, ...]) -> ExternalWrench:
    """An estimate without its numbers."""
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
