"""What the messages of contact_node consist of: what changes with every state, and the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3, WrenchStamped

from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench
from dynamics_ros_msgs.msg import FootContacts as FootContactsMessage

from ..estimation import ContactLocation, FootContacts, WrenchEstimate
from .contact_pipeline import ContactPipeline, ExternalTorques
from .conversions import header, wrench_stamped
from .state import RobotState

STATE_NUMBERS = (
    *('external_torques', 'contact_thresholds', 'collision_thresholds'),
    *('link_probability', 'point', 'normal', 'force', 'point_deviation'),
)
ESTIMATE_NUMBERS = ('wrench', 'reference_point', 'covariance', 'singular_values', 'tare_offset')
"""Fields of the messages that are new for every state."""

NOWHERE = np.zeros(3)


FEET_NUMBERS = ('forces', 'probabilities', 'friction_violations')


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
    """What else is in an estimate; of the singular values their number."""

    frame_id: str
    frame: str
    observable: tuple[bool, ...]
    degraded: bool
    singular_values: int
    joint_names: tuple[str, ...]
    stale_joints: tuple[str, ...]


def state_parts(
    pipeline: ContactPipeline,
    external: ExternalTorques,
    place: ContactLocation | None,
    known: bool,
    frame_id: str,
    point_frame_id: str,
) -> tuple[StateKey, tuple[Any, ...]]:
    """Key and numbers of a contact state.

    Args:
        pipeline, external: what was felt.
        place: where; None for nowhere.
        known: whether its point may be relied on.
        frame_id, point_frame_id: of the root and of the link of the place.
    """
    order, report, detector = pipeline.joint_indices, external.report, pipeline.detector
    key = StateKey(
        frame_id,
        int(report.state),
        place.link if place else report.link,
        known,
        point_frame_id,
        report.collision_latched,
        pipeline.joint_names,
    )
    thresholds = detector.contact_thresholds[order], detector.collision_thresholds[order]
    return key, (external.values[order], *thresholds, *_numbers_of(place))


def feet_parts(
    contacts: FootContacts, state: RobotState, frame_id: str
) -> tuple[FeetKey, tuple[Any, ...]]:
    """Key and numbers of the contacts of feet, in the root frame of that id."""
    standing = tuple(contacts.in_contact.tolist())
    degraded = bool(contacts.degraded or state.stale)
    key = FeetKey(frame_id, contacts.feet, standing, degraded)
    return key, (contacts.forces.ravel(), contacts.probabilities, contacts.friction_violations)


def empty_feet(key: FeetKey) -> FootContactsMessage:
    """Contacts of feet without their numbers."""
    zeros = [0.0] * len(key.feet)
    return FootContactsMessage(
        header=header(Time(), key.frame_id),
        feet=list(key.feet),
        forces=[Vector3() for _ in key.feet],
        probabilities=zeros,
        in_contact=list(key.in_contact),
        friction_violations=zeros,
        degraded=key.degraded,
    )


def estimate_parts(
    pipeline: ContactPipeline, state: RobotState, estimate: WrenchEstimate, frame_id: str
) -> tuple[EstimateKey, tuple[Any, ...]]:
    """Key and numbers of an estimate, expressed in the frame of that id."""
    *observable, degraded = estimate.marks
    key = EstimateKey(
        frame_id,
        estimate.frame,
        tuple(observable),
        degraded or bool(state.stale),
        len(estimate.singular_values),
        pipeline.joint_names,
        state.stale,
    )
    return key, (
        estimate.wrench,
        estimate.reference_point,
        estimate.covariance.ravel(),
        estimate.singular_values,
        pipeline.tare.offset[pipeline.joint_indices],
    )


def empty_state(key: StateKey) -> ContactStateMessage:
    """A contact state without its numbers."""
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
    """link_probability, point, normal, force, point_deviation of a contact state."""
    if place is None:
        return 0.0, NOWHERE, NOWHERE, NOWHERE, np.inf
    return place.probability, place.point, place.normal, place.force, place.deviation


def empty_wrench(frame_id: str) -> WrenchStamped:
    """A wrench without its numbers."""
    return wrench_stamped(Time(), frame_id, np.zeros(6))


def empty_estimate(key: EstimateKey) -> ExternalWrench:
    """An estimate without its numbers."""
    return ExternalWrench(
        header=header(Time(), key.frame_id),
        frame=key.frame,
        covariance=np.zeros(36),
        singular_values=[0.0] * key.singular_values,
        observable=list(key.observable),
        degraded=key.degraded,
        joint_names=list(key.joint_names),
        tare_offset=[0.0] * len(key.joint_names),
        stale_joints=list(key.stale_joints),
    )
