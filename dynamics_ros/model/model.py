"""The Model: a frozen tree of joints, bodies and frames, ready for the algorithms.

Body i is what moves with joint i; index -1 is the root frame. Fixed and locked joints are gone:
the links behind them are merged into the body that carries them, and remain as frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dynamics_ros.errors import (
    InvalidArgumentError,
    ModelError,
    UnknownFrameError,
    UnknownJointError,
)
from dynamics_ros.spatial import Inertia, Matrix3, Motion, Scalar, Transform, Vector3

from .description import Inertial, JointDescription, Limits, Origin, RobotDescription
from .doubts import LOG, NO_MASS, Doubts
from .joints import JointKind

ROOT = -1
"""Index of the root frame where a body index is asked for."""

UNLIMITED = Limits()
NOWHERE_ELSE = Transform.identity()

ROOT_JOINTS = ('fixed', 'floating', 'planar')
ROOT_JOINT_NAME = 'root_joint'
WORLD = 'world'


@dataclass(frozen=True)
class Joint:
    """A moving joint of the tree.

    Attributes:
        name: as in the description; ``root_joint`` for the joint of a moving base.
        kind: geometry and manifold.
        parent: index of the body that carries it, ``ROOT`` for the root frame.
        placement: constant pose of the joint frame in the parent body.
        q_indices, v_indices: where its coordinates and velocities stand in q and v.
        multiplier, offset: a mimic joint moves as multiplier * q[leader] + offset; 1 and 0 else.
        leader: name of the joint that it follows, or None.
        limits: position, velocity and effort limits.
        damping: viscous friction of the description [Nms/rad or Ns/m].
        friction: Coulomb friction of the description [Nm or N].
    """

    name: str
    kind: JointKind
    parent: int
    placement: Transform
    q_indices: tuple[int, ...]
    v_indices: tuple[int, ...]
    multiplier: float = 1.0
    offset: float = 0.0
    leader: str | None = None
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """X_PB: pose of the moving body in the parent body."""
        return self.placement @ self.displacement(q)

    def displacement(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving body in the joint frame."""
        own = [q[i] for i in self.q_indices]
        if self.leader is not None:
            own = [self.multiplier * own[0] + self.offset]
        return self.kind.transform(own)

    @cached_property
    def subspace(self) -> tuple[tuple[int, Motion], ...]:
        """Pairs (index into v, column of S in the body frame).

        A follower shares the index of its leader, its column scaled by the multiplier; sums over
        these pairs then give the dynamics of the coupled mechanism.
        """
        columns = self.kind.motion_subspace()
        return tuple(
            (i, S * self.multiplier if self.leader else S)
            for i, S in zip(self.v_indices, columns, strict=True)
        )

    def motion(self, v: Sequence[Scalar]) -> Motion:
        """S v: velocity of the body relative to its parent, in the body frame ([SE3] 7)."""
        total = Motion.zero()
        for i, S in self.subspace:
            total = total + S * v[i]
        return total


@dataclass(frozen=True)
class Frame:
    """A link of the description.

    Attributes:
        name: of the link.
        body: that it is part of.
        placement: X_BF, its constant pose in the body frame.
        parent: the link that its joint hangs it on; '' for the root link.
        origin: its pose in that link, without what its joint moves it by.
    """

    name: str
    body: int
    placement: Transform
    parent: str = ''
    origin: Transform = NOWHERE_ELSE


@dataclass(frozen=True)
class Model:
    """A tree-structured robot.

    Attributes:
        name: of the robot.
        joints: moving joints, parents before children; joint i moves body i.
        inertias: inertia of each body in its body frame.
        body_names: link at the child end of each joint.
        frames: every link, in the order of the description.
        gravity: in the root frame [m/s^2].
        root_joint: fixed, floating or planar.
        root_frame: name of the frame that poses are given in.
        nq, nv: sizes of q and v.
        with_geometry: bodies one of whose links has a visual or collision element.
    """

    name: str
    joints: tuple[Joint, ...]
    inertias: tuple[Inertia, ...]
    body_names: tuple[str, ...]
    frames: tuple[Frame, ...]
    gravity: Vector3
    root_joint: str
    root_frame: str
    nq: int
    nv: int
    with_geometry: frozenset[int] = frozenset()

    @cached_property
    def massless_bodies(self) -> tuple[str, ...]:
        """Bodies whose mass the description seems to have forgotten.

        Without mass are also the bodies between the joints of a universal joint and the like; they
        have no geometry, and carry a body that has a mass.
        """
        carried = [float(inertia.mass) for inertia in self.inertias]
        for body in reversed(range(len(carried))):
            parent = self.joints[body].parent
            if parent != ROOT:
                carried[parent] += carried[body]
        return tuple(
            name
            for body, name in enumerate(self.body_names)
            if not self.inertias[body].mass and (not carried[body] or body in self.with_geometry)
        )

    @cached_property
    def doubt(self) -> str:
        """A sentence about bodies without mass; '' when there are none."""
        doubts = Doubts()
        for name in self.massless_bodies:
            doubts.add(NO_MASS, name)
        return ''.join(doubts.sentences(self.name))

    @cached_property
    def frame_indices(self) -> dict[str, int]:
        """Index of each frame by name."""
        return {frame.name: i for i, frame in enumerate(self.frames)}

    @cached_property
    def moving_frames(self) -> tuple[Frame, ...]:
        """The links that a joint moves in their parent link, in the order of the joints."""
        return tuple(self.frame(name) for name in self.body_names if self.frame(name).parent)

    @cached_property
    def fixed_frames(self) -> tuple[Frame, ...]:
        """The links that stand still in their parent link, in the order of the description."""
        moving = {frame.name for frame in self.moving_frames}
        return tuple(one for one in self.frames if one.parent and one.name not in moving)

    def frame(self, name: str) -> Frame:
        """The frame of that name.

        Raises:
            UnknownFrameError: the model has no such frame.
        """
        index = self.frame_indices.get(name) if isinstance(name, str) else None
        if index is None:
            raise UnknownFrameError('frame', name, self.frame_indices)
        return self.frames[index]

    @cached_property
    def root_joint_nq(self) -> int:
        """Coordinates of the root joint, in front of those of the joints."""
        return 0 if self.root_joint == 'fixed' else self.joints[0].kind.nq

    @cached_property
    def root_joint_nv(self) -> int:
        """Velocities of the root joint, in front of those of the joints."""
        return 0 if self.root_joint == 'fixed' else self.joints[0].kind.nv

    @cached_property
    def actuated(self) -> tuple[Joint, ...]:
        """The joints with coordinates of their own after the root joint, in the order of q."""
        first = 0 if self.root_joint == 'fixed' else 1
        leaders = [joint for joint in self.joints[first:] if joint.leader is None]
        return tuple(sorted(leaders, key=lambda joint: joint.q_indices))

    @property
    def has_mimic_joints(self) -> bool:
        """Whether joints share coordinates."""
        return any(joint.leader is not None for joint in self.joints)

    def ancestors(self, body: int) -> list[int]:
        """The joints that move a body, from the root to the body itself."""
        chain: list[int] = []
        while body != ROOT:
            chain.append(body)
            body = self.joints[body].parent
        return chain[::-1]

    def with_gravity(self, gravity: Sequence[float]) -> Model:
        """The same robot under another gravity [m/s^2] in the root frame."""
        return replace(self, gravity=_checked_gravity(gravity))

    def with_added_inertia(self, frame: str, inertia: Inertia) -> Model:
        """The robot with a rigid body added at a frame, its inertia given in that frame."""
        carrier = self.frame(frame)
        if carrier.body == ROOT:
            return self
        inertias = list(self.inertias)
        inertias[carrier.body] = inertias[carrier.body] + carrier.placement.act(inertia)
        return replace(self, inertias=tuple(inertias))


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
        gravity=_checked_gravity(gravity),
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
            kind = JointKind(root_joint)
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
            kind = JointKind(joint.type)
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
                kind = JointKind(joint.type, Vector3(*joint.axis))
                origin = origin @ kind.transform([position])
            placement = carrier.placement @ origin
            self._merge(Frame(joint.child, carrier.body, placement, joint.parent, origin))
            return
        kind = JointKind(joint.type, Vector3(*joint.axis))
        source = leader or joint.name
        if leader and JointKind(self._by_name[leader].type).nq != 1:
            raise ModelError(f'joint {joint.name!r} mimic', f'{leader!r} has several coordinates')
        self._add_body(
            Joint(
                name=joint.name,
                kind=kind,
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


def _transform(origin: Origin) -> Transform:
    return Transform(Matrix3(origin.rotation), Vector3(*origin.translation))


def _inertia(inertial: Inertial) -> Inertia:
    return Inertia(inertial.mass, Vector3(*inertial.center_of_mass), Matrix3(inertial.inertia))


def _checked_gravity(gravity: Sequence[float]) -> Vector3:
    try:
        values = [float(component) for component in gravity]
    except (TypeError, ValueError):
        values = []
    if len(values) != 3 or not all(math.isfinite(component) for component in values):
        raise InvalidArgumentError('gravity', repr(gravity), 'three finite numbers [m/s^2]')
    return Vector3(*values)


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
        if joints[name].type in ('floating', 'planar', 'fixed') or joints[name].mimic:
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
