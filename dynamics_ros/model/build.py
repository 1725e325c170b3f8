# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Building of the Model from a robot description: moving joints, merged bodies, frames.

Fixed and locked joints are removed: the links behind them are merged into the body that carries
them, and remain as frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from .model import NOWHERE_ELSE, ROOT, Frame, Joint, Model, checked_gravity
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
    builder = _Builder(description, root_joint, joint_kinds or {}, names)
    for frame in (x for loop in description.loops for x in loop[:2]):
        if frame not in builder.frames:
            raise UnknownFrameError('loops', frame, builder.frames)
    own = [joint.name for joint in builder.joints if joint.leader is None]
    for name in description.passive_joints:
        if name not in own:
            raise UnknownJointError('passive_joints', name, own)
    model = Model(
        name=description.name,
        joints=tuple(builder.joints),
        inertias=tuple(builder.inertias),
        body_names=tuple(builder.body_names),
        frames=tuple(builder.frames[link.name] for link in description.links),
        gravity=checked_gravity(gravity),
        root_joint=root_joint,
        root_frame=description.root if root_joint == 'fixed' else WORLD,
        nq=builder.nq,
        nv=builder.nv,
        with_geometry=frozenset(
            builder.frames[link.name].body for link in description.links if link.has_geometry
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


class _Builder:
    """Builder that walks a description once and collects joints, bodies and frames."""

    def __init__(
        self,
        description: RobotDescription,
        root_joint: str,
        kinds: Mapping[str, JointKind],
        names: Mapping[str, str],
    ) -> None:
        self.joints: list[Joint] = []
        self.inertias: list[Inertia] = []
        self.body_names: list[str] = []
        self.frames: dict[str, Frame] = {}
        self.nq = self.nv = 0
        self._names = names
        self._inertials = {link.name: _inertia(link.inertial) for link in description.links}
        by_name = {joint.name: joint for joint in description.joints}
        for name in kinds:
            _check_kind(name, by_name)
        self._kinds = {
            name: kinds.get(name) or JOINT_KINDS[joint.type](Vector3(*joint.axis))
            for name, joint in by_name.items()
            if joint.type != 'fixed'
        }
        root = description.root
        if root_joint == 'fixed':
            self._merge(root, Frame(names[root], ROOT, Transform.identity()))
        else:
            kind, placement = JOINT_KINDS[root_joint](), Transform.identity()
            joint = Joint(ROOT_JOINT_NAME, kind, ROOT, placement, *self._indices(kind))
            self._add_body(joint, root)
        # In the order of the joints that own coordinates; mimic joints own none.
        self._owned = {
            joint.name: self._indices(self._kinds[joint.name])
            for joint in description.joints
            if joint.type != 'fixed' and not joint.mimic
        }
        for one in description.joints:
            self._add(one)

    def _indices(self, kind: JointKind) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Indices of the next coordinates and velocities."""
        q, v = range(self.nq, self.nq + kind.nq), range(self.nv, self.nv + kind.nv)
        self.nq, self.nv = q.stop, v.stop
        return tuple(q), tuple(v)

    def _add(self, joint: JointDescription) -> None:
        carrier, origin = self.frames[joint.parent], _transform(joint.origin)
        placement = carrier.placement @ origin
        if joint.type == 'fixed':
            parent = self._names[joint.parent]
            frame = Frame(self._names[joint.child], carrier.body, placement, parent, origin)
            self._merge(joint.child, frame)
            return
        mimic = joint.mimic or Mimic('')
        if joint.mimic and self._kinds[mimic.joint].nq != 1:
            problem = f'{mimic.joint!r} has several coordinates'
            raise ModelError(f'joint {joint.name!r} mimic', problem)
        moving = Joint(
            joint.name,
            self._kinds[joint.name],
            carrier.body,
            placement,
            *self._owned[mimic.joint or joint.name],
            multiplier=mimic.multiplier,
            offset=mimic.offset,
            leader=mimic.joint or None,
            limits=joint.limits,
            damping=joint.damping,
            friction=joint.friction,
            armature=joint.armature,
        )
        self._add_body(moving, joint.child, self._names[joint.parent], origin)

    def _add_body(
        self, joint: Joint, link: str, parent: str = '', origin: Transform = NOWHERE_ELSE
    ) -> None:
        body, inertia, name = len(self.joints), self._inertials[link], self._names[link]
        self.joints.append(joint)
        self.inertias.append(inertia)
        self.body_names.append(name)
        self.frames[link] = Frame(name, body, Transform.identity(), parent, origin, inertia)

    def _merge(self, link: str, frame: Frame) -> None:
        inertia = self._inertials[link]
        self.frames[link] = replace(frame, inertia=inertia)
        if frame.body != ROOT:
            self.inertias[frame.body] = self.inertias[frame.body] + frame.placement.act(inertia)


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
