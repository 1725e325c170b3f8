"""The Model of a robot description: moving joints, merged bodies, frames.

Fixed and locked joints are gone: the links behind them are merged into the body that carries them,
and remain as frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dynamics_ros.errors import InvalidArgumentError, ModelError, UnknownJointError
from dynamics_ros.spatial import Inertia, Matrix3, Transform, Vector3

from .description import Inertial, JointDescription, Origin, RobotDescription
from .doubts import LOG
from .joints import JOINT_KINDS, ONE_COORDINATE, JointKind
from .model import NOWHERE_ELSE, ROOT, Frame, Joint, Model, checked_gravity

ROOT_JOINTS = ('fixed', 'floating', 'planar')
ROOT_JOINT_NAME = 'root_joint'
WORLD = 'world'


def build_model(
    description: RobotDescription,
    root_joint: str = 'fixed',
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    locked_joints: Mapping[str, float] | None = None,
) -> Model:
    """Build the model of a description.

    Bodies that seem to lack their mass are logged as a warning.

    Args:
        description: links and joints in tree order.
        root_joint: how the root link moves in the world: fixed, floating or planar.
        gravity: in the root frame [m/s^2].
        locked_joints: joint name to the constant position it is kept at.

    Raises:
        InvalidArgumentError: an unknown root joint, a gravity that is not three finite numbers, a
            locked joint that does not exist, cannot be locked, or has no finite position.
        ModelError: a mimic joint that follows a joint of several coordinates.
    """
    if root_joint not in ROOT_JOINTS:
        raise InvalidArgumentError('root_joint', repr(root_joint), f'one of {ROOT_JOINTS}')
    locked = _checked_locks(description, locked_joints or {})
    builder = _Builder(description, root_joint, locked)
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
    )
    if model.doubt:
        LOG.warning('%s', model.doubt)
    return model


class _Builder:
    """Walks a description once and collects joints, bodies and frames."""

    def __init__(
        self, description: RobotDescription, root_joint: str, locked: Mapping[str, float]
    ) -> None:
        self.joints: list[Joint] = []
        self.inertias: list[Inertia] = []
        self.body_names: list[str] = []
        self.frames: dict[str, Frame] = {}
        self.nq = 0
        self.nv = 0
        self._locked = locked
        self._inertials = {link.name: link.inertial for link in description.links}
        self._by_name = {joint.name: joint for joint in description.joints}
        if root_joint == 'fixed':
            self.frames[description.root] = Frame(description.root, ROOT, Transform.identity())
        else:
            kind = JOINT_KINDS[root_joint]()
            self.nq, self.nv = kind.nq, kind.nv
            self._add_body(
                Joint(
                    ROOT_JOINT_NAME,
                    kind,
                    ROOT,
                    Transform.identity(),
                    tuple(range(kind.nq)),
                    tuple(range(kind.nv)),
                ),
                description.root,
            )
        self._q, self._v = self._assign_indices(description)
        for joint in description.joints:
            self._add(joint)

    def _assign_indices(
        self, description: RobotDescription
    ) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
        """Coordinates in the order of the joints that own them; followers own none."""
        q: dict[str, tuple[int, ...]] = {}
        v: dict[str, tuple[int, ...]] = {}
        for joint in description.joints:
            if joint.type == 'fixed' or joint.mimic or joint.name in self._locked:
                continue
            kind = _kind(joint)
            q[joint.name] = tuple(range(self.nq, self.nq + kind.nq))
            v[joint.name] = tuple(range(self.nv, self.nv + kind.nv))
            self.nq += kind.nq
            self.nv += kind.nv
        return q, v

    def _add(self, joint: JointDescription) -> None:
        carrier = self.frames[joint.parent]
        origin = _transform(joint.origin)
        leader = joint.mimic.joint if joint.mimic else None
        position = self._constant_position(joint)
        if position is not None:
            if joint.type != 'fixed':
                origin = origin @ _kind(joint).transform([position])
            placement = carrier.placement @ origin
            self._merge(Frame(joint.child, carrier.body, placement, joint.parent, origin))
            return
        source = leader or joint.name
        if leader and self._by_name[leader].type not in ONE_COORDINATE:
            raise ModelError(f'joint {joint.name!r} mimic', f'{leader!r} has several coordinates')
        self._add_body(
            Joint(
                name=joint.name,
                kind=_kind(joint),
                parent=carrier.body,
                placement=carrier.placement @ origin,
                q_indices=self._q[source],
                v_indices=self._v[source],
                multiplier=joint.mimic.multiplier if joint.mimic else 1.0,
                offset=joint.mimic.offset if joint.mimic else 0.0,
                leader=leader,
                limits=joint.limits,
                damping=joint.damping,
                friction=joint.friction,
            ),
            joint.child,
            joint.parent,
            origin,
        )

    def _constant_position(self, joint: JointDescription) -> float | None:
        """The position of a fixed or locked joint, or of the follower of a locked one."""
        if joint.type == 'fixed':
            return 0.0
        if joint.name in self._locked:
            return self._locked[joint.name]
        if joint.mimic and joint.mimic.joint in self._locked:
            leader = self._locked[joint.mimic.joint]
            return joint.mimic.multiplier * leader + joint.mimic.offset
        return None

    def _add_body(
        self, joint: Joint, link: str, parent: str = '', origin: Transform = NOWHERE_ELSE
    ) -> None:
        self.joints.append(joint)
        self.inertias.append(_inertia(self._inertials[link]))
        self.body_names.append(link)
        body = len(self.joints) - 1
        self.frames[link] = Frame(link, body, Transform.identity(), parent, origin)

    def _merge(self, frame: Frame) -> None:
        self.frames[frame.name] = frame
        if frame.body != ROOT:
            inertia = frame.placement.act(_inertia(self._inertials[frame.name]))
            self.inertias[frame.body] = self.inertias[frame.body] + inertia


def _kind(joint: JointDescription) -> JointKind:
    return JOINT_KINDS[joint.type](Vector3(*joint.axis))


def _transform(origin: Origin) -> Transform:
    return Transform(Matrix3(origin.rotation), Vector3(*origin.translation))


def _inertia(inertial: Inertial) -> Inertia:
    return Inertia(inertial.mass, Vector3(*inertial.center_of_mass), Matrix3(inertial.inertia))


def _checked_locks(
    description: RobotDescription, locked_joints: Mapping[str, float]
) -> dict[str, float]:
    if not isinstance(locked_joints, Mapping):
        raise InvalidArgumentError(
            'locked_joints', repr(locked_joints), 'a mapping from joint names to positions'
        )
    joints = {joint.name: joint for joint in description.joints}
    locked: dict[str, float] = {}
    for name, position in locked_joints.items():
        if name not in joints:
            raise UnknownJointError('locked_joints', name, joints)
        if joints[name].type not in ONE_COORDINATE or joints[name].mimic:
            problem = f'joint {name!r} is {joints[name].type}'
            raise InvalidArgumentError(
                'locked_joints', problem, 'a joint with one coordinate of its own'
            )
        try:
            value = float(position)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            problem = f'{name!r} at {position!r}'
            raise InvalidArgumentError('locked_joints', problem, 'a finite position')
        locked[name] = value
    return locked
