# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models made from models: adds frames, attaches robots, locks joints.

Bodies and coordinates keep their order; attached ones come after the existing ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import add

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.spatial import Inertia, Transform

from .description import Loop
from .doubts import LOG, NO_COMMON_RANGE, NO_FOLLOWER_VELOCITY, Doubts
from .hardened_xml import MAXIMUM_NUMBER, quoted
from .joints import OneCoordinate
from .model import ROOT, Frame, Joint, Model

NO_MOTION = 1e-6
"""Common ranges of a leader and its followers up to this width are empty [rad or m]."""

HERE = Transform.identity()

Carrier = tuple[int, Transform]
"""Body, and the pose in it of another body that was merged into it."""


def with_frame(model: Model, name: str, parent: str, pose: Transform) -> Model:
    """Return the model with one more frame.

    Args:
        model: the robot.
        name: name of the new frame.
        parent: the frame that it is fixed to.
        pose: pose in the parent frame.

    Raises:
        UnknownFrameError: no such parent.
        InvalidArgumentError: the name is taken.
    """
    carrier = model.frame(parent)
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError('name', repr(name), 'a name that is not empty')
    if name in (*model.frame_indices, model.root_frame):
        raise InvalidArgumentError('name', f'{name!r} is taken', 'a name that no frame has')
    frame = Frame(name, carrier.body, carrier.placement @ pose, parent, pose)
    return replace(model, frames=(*model.frames, frame))


def with_tool(model: Model, tool: Model, at: str, pose: Transform, prefix: str = '') -> Model:
    """Return the model with another one fixed to one of its frames.

    Gravity, root and name are those of the first model. The default frame becomes that of the tool
    if the tool is on the body of the first model's default frame.

    Args:
        model: the robot.
        tool: the attached model; its root joint is fixed.
        at: the frame that carries it.
        pose: pose of the tool's root link in that frame.
        prefix: prefix for all names of the tool.

    Raises:
        UnknownFrameError: no such frame.
        InvalidArgumentError: the tool's base moves, or both have equal names.
    """
    carrier = model.frame(at)
    if tool.root_joint != 'fixed':
        expected = "one with root_joint 'fixed', which the frame carries"
        raise InvalidArgumentError('tool', f'its base is {tool.root_joint}', expected)
    links = (*model.frame_indices, model.root_frame)
    _check_names('links', links, tool.frame_indices, prefix)
    _check_names('joints', (x.name for x in model.joints), (x.name for x in tool.joints), prefix)
    bodies, base = len(model.joints), carrier.placement @ pose
    default = model.tool_frame
    if tool.tool_frame and (not default or model.frame(default).body == carrier.body):
        default = prefix + tool.tool_frame

    carriers: dict[int, Carrier] = {i: (bodies + i, HERE) for i in range(len(tool.joints))}
    carriers[ROOT] = carrier.body, base
    joints = [
        replace(
            _carried(joint, carriers, lambda i: model.nq + i, lambda i: model.nv + i),
            name=prefix + joint.name,
            leader=None if joint.leader is None else prefix + joint.leader,
        )
        for joint in tool.joints
    ]
    frames = [
        replace(
            _placed(frame, carriers),
            name=prefix + frame.name,
            parent=prefix + frame.parent if frame.parent else at,
            origin=frame.origin if frame.parent else pose,
        )
        for frame in tool.frames
    ]
    inertias = list(model.inertias)
    if carrier.body != ROOT:
        # The base of the tool, which was the fixed root.
        inertias[carrier.body] = inertias[carrier.body] + base.act(_of_links(tool, ROOT))
    return replace(
        model,
        joints=(*model.joints, *joints),
        inertias=(*inertias, *tool.inertias),
        body_names=(*model.body_names, *(prefix + name for name in tool.body_names)),
        frames=(*model.frames, *frames),
        nq=model.nq + tool.nq,
        nv=model.nv + tool.nv,
        with_geometry=model.with_geometry | {carriers[i][0] for i in tool.with_geometry},
        tool_frame=default,
        loops=(
            *model.loops,
            *(Loop(prefix + x.frame, prefix + x.other, x.kind) for x in tool.loops),
        ),
        passive_joints=(*model.passive_joints, *(prefix + x for x in tool.passive_joints)),
    )


def with_locked(model: Model, positions: Mapping[str, float]) -> Model:
    """Return the model with joints locked at positions.

    Joints that mimic a locked joint are locked with it.

    Args:
        model: the robot.
        positions: positions of joints with one coordinate of their own, by name.

    Raises:
        UnknownJointError: no such joint.
        InvalidArgumentError: a joint cannot be locked, or a position is not finite.
    """
    locked = _checked_positions(model, positions)
    carriers: dict[int, Carrier] = {ROOT: (ROOT, HERE)}
    inertias: list[Inertia] = []
    kept: list[int] = []
    turned: dict[str, Transform] = {}
    for i, joint in enumerate(model.joints):
        body, X = carriers[joint.parent]
        position = locked.get(joint.leader or joint.name)
        if position is None:
            carriers[i] = len(kept), HERE
            kept.append(i)
            inertias.append(model.inertias[i])
            continue
        moved = joint.kind.transform([joint.multiplier * position + joint.offset])
        turned[model.body_names[i]] = moved
        X = X @ joint.placement @ moved
        carriers[i] = body, X
        if body != ROOT:
            inertias[body] = inertias[body] + X.act(model.inertias[i])
    joints = [model.joints[i] for i in kept]
    owners = sorted((x for x in joints if x.leader is None), key=lambda joint: joint.q_indices)
    names = {joint.name for joint in owners}
    q = dict(zip(chain(*(x.q_indices for x in owners)), range(model.nq)))
    v = dict(zip(chain(*(x.v_indices for x in owners)), range(model.nv)))
    frames = [
        replace(_placed(frame, carriers), origin=frame.origin @ turned.get(frame.name, HERE))
        for frame in model.frames
    ]
    bodies = {frame.name: frame.body for frame in frames}
    changed = replace(
        model,
        joints=tuple(_carried(joint, carriers, q.__getitem__, v.__getitem__) for joint in joints),
        inertias=tuple(inertias),
        body_names=tuple(model.body_names[i] for i in kept),
        frames=tuple(frames),
        nq=len(q),
        nv=len(v),
        with_geometry=frozenset(carriers[i][0] for i in model.with_geometry),
        passive_joints=tuple(x for x in model.passive_joints if x in names),
        loops=tuple(x for x in model.loops if bodies[x.frame] != bodies[x.other]),
    )
    return with_ranges_of_followers(changed)


def with_ranges_of_followers(model: Model) -> Model:
    """Return the model with leaders whose limits keep their mimic joints within theirs.

    The range of a leader is the intersection over its followers, its velocity limit the smallest
    one divided by the multiplier. Missing limits of followers do not count; without a common range
    that of the leader counts. ``warnings`` names both.
    """
    doubts = Doubts()
    followers: dict[str, list[Joint]] = {}
    for joint in model.joints:
        if joint.leader is not None and joint.multiplier:
            followers.setdefault(joint.leader, []).append(joint)
    joints = tuple(_narrowed(x, followers.get(x.name, ()), doubts) for x in model.joints)
    return replace(model, joints=joints, warnings=doubts.sentences(model.name))


def _narrowed(leader: Joint, followers: Iterable[Joint], doubts: Doubts) -> Joint:
    own = leader.own_limits or leader.limits
    lower, upper, velocity = own.lower, own.upper, own.velocity
    for joint in followers:
        ends = (joint.limits.lower, joint.limits.upper)
        low, high = sorted((end - joint.offset) / joint.multiplier + 0.0 for end in ends)
        lower, upper = max(lower, low), min(upper, high)
        velocity = min(velocity, joint.limits.velocity / abs(joint.multiplier))
        if math.isinf(joint.limits.velocity) and math.isfinite(own.velocity):
            doubts.add(NO_FOLLOWER_VELOCITY, joint.name)
    if (lower, upper) != (own.lower, own.upper) and not upper - lower > NO_MOTION:
        doubts.add(NO_COMMON_RANGE, leader.name)
        lower, upper = own.lower, own.upper
    limits = replace(own, lower=lower, upper=upper, velocity=velocity)
    return replace(leader, limits=limits, own_limits=None if limits == own else own)


def _carried(
    joint: Joint, carriers: Mapping[int, Carrier], q: Callable[[int], int], v: Callable[[int], int]
) -> Joint:
    """Return a joint on the new body of its parent, with its indices mapped by q and v."""
    body, X = carriers[joint.parent]
    q_indices, v_indices = tuple(map(q, joint.q_indices)), tuple(map(v, joint.v_indices))
    placement = X @ joint.placement
    return replace(
        joint, parent=body, placement=placement, q_indices=q_indices, v_indices=v_indices
    )


def _placed(frame: Frame, carriers: Mapping[int, Carrier]) -> Frame:
    body, X = carriers[frame.body]
    return replace(frame, body=body, placement=X @ frame.placement)


def _of_links(model: Model, body: int) -> Inertia:
    """Return the combined inertia of a body's links, in its frame."""
    own = [frame.placement.act(frame.inertia) for frame in model.frames if frame.body == body]
    return reduce(add, own) if own else Inertia.zero()


def _check_names(what: str, of_model: Iterable[str], of_tool: Iterable[str], prefix: str) -> None:
    both = sorted({prefix + name for name in of_tool}.intersection(of_model))
    if both:
        names = ', '.join(map(repr, both[:8])) + (', ...' if len(both) > 8 else '')
        problem = f'both have {what} called {names}'
        raise InvalidArgumentError('prefix', problem, 'one that makes the names of the tool others')


def _checked_positions(model: Model, positions: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(positions, Mapping):
        expected = 'a mapping from joint names to positions'
        raise InvalidArgumentError('locked_joints', repr(positions), expected)
    joints = {joint.name: joint for joint in model.joints}
    checked: dict[str, float] = {}
    for name, position in positions.items():
        joint = joints.get(name)
        if joint is None:
            raise UnknownJointError('locked_joints', name, joints)
        if joint.leader is not None or not isinstance(joint.kind, OneCoordinate):
            kind = f'follows {joint.leader!r}' if joint.leader else f'is {joint.kind.name}'
            expected = 'a joint with one coordinate of its own'
            raise InvalidArgumentError('locked_joints', f'joint {name!r} {kind}', expected)
        try:
            value = float(position)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= MAXIMUM_NUMBER:
            problem = f'{name!r} at {position!r}'
            expected = f'a finite position, at most {MAXIMUM_NUMBER:g} in size'
            raise InvalidArgumentError('locked_joints', problem, expected)
        (unit,) = joint.kind.units
        if beyond := joint.limits.far_beyond(value, unit):
            LOG.warning('locked_joints: %s is %s, far beyond its limits', quoted(name), beyond)
        checked[name] = value
    return checked
