# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Building of the Model from a robot description: moving joints, merged bodies, frames.

Fixed and locked joints are removed: the links behind them are merged into the body that carries
them, and remain as frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Literal, get_args

from dynamics_ros.errors import (
    InvalidArgumentError,
    ModelError,
    UnknownFrameError,
    UnknownJointError,
)
from dynamics_ros.spatial import Inertia, Matrix3, Transform, Vector3

from .composition import with_locked, with_ranges_of_followers
from .description import Inertial, JointDescription, Mimic, Origin, RobotDescription
from .doubts import LOG
from .hardened_xml import quoted
from .joints import JOINT_KINDS, JointKind
from .model import ROOT, Frame, Joint, Model, checked_gravity
from .tool_frame import tool_frame

RootJoint = Literal['fixed', 'floating', 'planar']
ROOT_JOINTS = get_args(RootJoint)
ROOT_JOINT_NAME = 'root_joint'
WORLD = 'world'


def build_model(
    description: RobotDescription,
    root_joint: str = 'fixed',
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    locked_joints: Mapping[str, float] | None = None,
    joint_kinds: Mapping[str, JointKind] | None = None,
) -> Model:
    """Build the model of a description.

    Bodies that seem to lack their mass and unusable limits of mimic joints are logged as warnings.
    The links of a moving base do not have the name of the frame in which it moves: a link 'world'
    is called 'world_link', which is logged, too.

    Args:
        description: links and joints in tree order.
        root_joint: how the root link moves in the world: fixed, floating or planar.
        gravity: in the root frame [m/s^2].
        locked_joints: joint name to the constant position at which it is locked.
        joint_kinds: joint name to the kind that replaces that of the description.

    Raises:
        UnknownJointError: a kind is given for an unknown joint, or one is called passive.
        UnknownFrameError: a loop has an unknown frame.
        InvalidArgumentError: an unknown root joint, a gravity that is not three finite numbers, a
            locked joint that does not exist, cannot be locked, or has no finite position.
        ModelError: a mimic joint follows a joint of several coordinates, or a kind is given for a
            joint that is fixed or follows another one.
    """
    if root_joint not in ROOT_JOINTS:
        raise InvalidArgumentError('root_joint', repr(root_joint), f'one of {ROOT_JOINTS}')
    names = {link.name: link.name for link in description.links}
    renamed: tuple[str, ...] = ()
    if root_joint != 'fixed' and WORLD in names:
        other = f'{WORLD}_link'
        while other in names:
            other += '_'
        names[WORLD] = other
        reason = f'because {WORLD!r} is the frame in which the base moves'
        robot = quoted(description.name)
        renamed = (f'robot {robot}: link {WORLD!r} is called {other!r}, {reason}',)
    for frame in (x for loop in description.loops for x in loop[:2]):
        if frame not in names:
            raise UnknownFrameError('loops', frame, names)
    by_name = {joint.name: joint for joint in description.joints}
    for name in joint_kinds or {}:
        _check_kind(name, by_name)
    base = JointDescription('', root_joint, '', description.root, axis=(0.0, 0.0, 1.0))
    tree = (base, *description.joints)
    kinds: dict[str, JointKind] = {
        one.name: (joint_kinds or {}).get(one.name) or JOINT_KINDS[one.type](Vector3(*one.axis))
        for one in tree
        if one.type != 'fixed'
    }
    # In the order of the joints that own coordinates; mimic joints own none.
    q, v = count(), count()
    owned = {
        one.name: (tuple(islice(q, kinds[one.name].nq)), tuple(islice(v, kinds[one.name].nv)))
        for one in tree
        if one.type != 'fixed' and not one.mimic
    }
    links = {link.name: _inertia(link.inertial) for link in description.links}
    frames = {'': Frame('', ROOT, Transform.identity())}
    joints: list[Joint] = []
    inertias: list[Inertia] = []
    for one in tree:
        carrier, origin, inertia = frames[one.parent], _transform(one.origin), links[one.child]
        body, placement = carrier.body, carrier.placement @ origin
        if one.type != 'fixed':
            joints.append(_joint(one, body, placement, kinds, owned))
            body, placement = len(inertias), Transform.identity()
            inertias.append(inertia)
        elif body != ROOT:
            inertias[body] = inertias[body] + placement.act(inertia)
        frames[one.child] = Frame(names[one.child], body, placement, carrier.name, origin, inertia)
    own = [joint.name for joint in joints if joint.leader is None]
    for name in description.passive_joints:
        if name not in own:
            raise UnknownJointError('passive_joints', name, own)
    model = Model(
        name=description.name,
        joints=tuple(joints),
        inertias=tuple(inertias),
        body_names=tuple(names[one.child] for one in tree if one.type != 'fixed'),
        frames=tuple(frames[link.name] for link in description.links),
        gravity=checked_gravity(gravity),
        root_joint=root_joint,
        root_frame=description.root if root_joint == 'fixed' else WORLD,
        nq=next(q),
        nv=next(v),
        with_geometry=frozenset(
            frames[link.name].body for link in description.links if link.has_geometry
        ),
        tool_frame=names[tool_frame(description)],
        loops=tuple(
            x._replace(frame=names[x.frame], other=names[x.other]) for x in description.loops
        ),
        passive_joints=description.passive_joints,
    )
    model = with_ranges_of_followers(model)
    if locked_joints:
        model = with_locked(model, locked_joints)
    model = replace(model, warnings=(*renamed, *model.warnings))
    for sentence in filter(None, (model.doubt, *model.warnings)):
        LOG.warning('%s', sentence)
    return model


def _joint(
    one: JointDescription,
    body: int,
    placement: Transform,
    kinds: Mapping[str, JointKind],
    owned: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]],
) -> Joint:
    """Return a moving joint at a placement in the body that carries it."""
    mimic = one.mimic or Mimic('')
    if one.mimic and kinds[mimic.joint].nq != 1:
        problem = f'{mimic.joint!r} has several coordinates'
        raise ModelError(f'joint {one.name!r} mimic', problem)
    return Joint(
        one.name or ROOT_JOINT_NAME,
        kinds[one.name],
        body,
        placement,
        *owned[mimic.joint or one.name],
        multiplier=mimic.multiplier,
        offset=mimic.offset,
        leader=mimic.joint or None,
        limits=one.limits,
        damping=one.damping,
        friction=one.friction,
        armature=one.armature,
    )


def _check_kind(name: str, joints: Mapping[str, JointDescription]) -> None:
    joint = joints.get(name)
    if joint is None:
        raise UnknownJointError('joint_kinds', name, joints)
    if joint.type == 'fixed' or joint.mimic:
        state = f'follows {joint.mimic.joint!r}' if joint.mimic else 'is fixed'
        raise ModelError(f'joint {name!r}', f'{state}: it has no kind of its own')


def _transform(origin: Origin) -> Transform:
    return Transform(Matrix3(origin.rotation), Vector3(*origin.translation))


def _inertia(inertial: Inertial) -> Inertia:
    return Inertia(inertial.mass, Vector3(*inertial.center_of_mass), Matrix3(inertial.inertia))
