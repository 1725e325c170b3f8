# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Model: a frozen tree of joints, bodies and frames, the input of the algorithms.

Body i moves with joint i; the root frame is the body ROOT, which never moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.spatial import Inertia, Motion, Scalar, Transform, Vector3

from .description import Limits, Loop
from .doubts import NO_MASS, Doubts
from .hardened_xml import MAXIMUM_NUMBER
from .joints import JointKind, VaryingJoint

ROOT = -1
"""Index of the root frame as a body: parent of the first joints, at rest at the origin."""

UNLIMITED = Limits()
NOWHERE_ELSE = Transform.identity()
WITHOUT_MASS = Inertia.zero()


class Stated:
    """Base of objects that pickle their fields only, without cached values."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields."""
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}


@dataclass(frozen=True)
class Joint(Stated):
    """Moving joint of the tree.

    Attributes:
        name: as in the description; ``root_joint`` for the joint of a moving base.
        kind: geometry and manifold.
        parent: index of the body that carries it, ``ROOT`` for the root frame.
        placement: constant pose of the joint frame in the parent body.
        q_indices, v_indices: indices of its coordinates and velocities in q and v.
        multiplier, offset: a mimic joint moves as multiplier * q[leader] + offset; 1 and 0
            otherwise.
        leader: name of the joint that it follows, or None.
        limits: position, velocity and effort limits; range and velocity limit of a leader are
            narrowed so that its followers stay within theirs.
        own_limits: limits of the description where followers narrow them; None otherwise.
        damping: viscous friction of the description [Nms/rad or Ns/m].
        friction: Coulomb friction of the description [Nm or N].
        armature: rotor inertia of the description, reflected to the joint [kg m^2 or kg].
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
    own_limits: Limits | None = None
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """X_PB: pose of the moving body in the parent body."""
        return self.placement @ self.displacement(q)

    def displacement(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving body in the joint frame."""
        return self.kind.transform(self.own_coordinates(q))

    def own_coordinates(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return its coordinates; for a mimic joint, computed from its leader's."""
        own = [q[i] for i in self.q_indices]
        return own if self.leader is None else [self.multiplier * own[0] + self.offset]

    def subspace(self, q: Sequence[Scalar]) -> tuple[tuple[int, Motion], ...]:
        """Pairs (index into v, column of S in the body frame).

        A follower shares the index of its leader, its column scaled by the multiplier; sums over
        these pairs then give the dynamics of the coupled mechanism.
        """
        if isinstance(self.kind, VaryingJoint):
            columns = self.kind.motion_subspace(self.own_coordinates(q))
            return tuple(zip(self.v_indices, columns, strict=True))
        return self._constant_subspace

    @computed_once
    def _constant_subspace(self) -> tuple[tuple[int, Motion], ...]:
        columns = self.kind.motion_subspace(self.kind.neutral())
        return tuple(
            (i, S * self.multiplier if self.leader else S)
            for i, S in zip(self.v_indices, columns, strict=True)
        )

    def subspace_rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Motion]:
        """Return the rate of each column of S in the body frame; zero but for a `VaryingJoint`."""
        if not isinstance(self.kind, VaryingJoint):
            return [Motion.zero()] * len(self.v_indices)
        own = [v[k] for k in self.v_indices]
        slopes = self.kind.subspace_slopes(self.own_coordinates(q))
        return [combined(row, own) for row in slopes]

    def subspace_slopes(self, q: Sequence[Scalar]) -> list[tuple[int, int, Motion]]:
        """(m, k, derivative of column m of S by coordinate k), as in v; none of a constant S."""
        if not isinstance(self.kind, VaryingJoint):
            return []
        slopes = self.kind.subspace_slopes(self.own_coordinates(q))
        return [
            (m, k, slope)
            for m, row in zip(self.v_indices, slopes, strict=True)
            for k, slope in zip(self.v_indices, row, strict=True)
        ]

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """c_J: the rates of the columns times their velocities, in the body frame ([SE3] 7)."""
        return combined(self.subspace_rates(q, v), [v[k] for k in self.v_indices])

    def motion(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """S v: velocity of the body relative to its parent, in the body frame ([SE3] 7)."""
        pairs = self.subspace(q)
        return combined([S for _, S in pairs], [v[i] for i, _ in pairs])


@dataclass(frozen=True)
class Frame:
    """Link of the description.

    Attributes:
        name: name of the link.
        body: body that it is part of.
        placement: X_BF, its constant pose in the body frame.
        parent: its parent link; '' for the root link.
        origin: its pose in the parent link at zero joint displacement.
        inertia: inertia of the link alone, in its frame; that of the body includes its other links.
    """

    name: str
    body: int
    placement: Transform
    parent: str = ''
    origin: Transform = NOWHERE_ELSE
    inertia: Inertia = WITHOUT_MASS


@dataclass(frozen=True)
class Model(Stated):
    """Tree-structured robot.

    Attributes:
        name: name of the robot.
        joints: moving joints, parents before children; joint i moves body i.
        inertias: inertia of each body in its body frame.
        body_names: link at the child end of each joint.
        frames: every link, in the order of the description.
        gravity: in the root frame [m/s^2].
        root_joint: fixed, floating or planar.
        root_frame: name of the frame that poses are given in.
        nq, nv: sizes of q and v.
        with_geometry: bodies with a visual or collision element on one of their links.
        tool_frame: frame to use where none is named, as ``tool_frame.tool_frame`` finds it.
        loops: joints of closed loops, which are not among ``joints``.
        passive_joints: joints of ``joints`` without a motor; only loops or springs move them.
        warnings: sentences about unusable limits of mimic joints and renamed links.
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
    tool_frame: str = field(default='', compare=False)
    loops: tuple[Loop, ...] = ()
    passive_joints: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @computed_once
    def massless_bodies(self) -> tuple[str, ...]:
        """Bodies whose mass the description seems to lack.

        Bodies between the joints of a universal joint and the like are also massless, but have no
        geometry and carry a body with mass; they are not included.
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

    @computed_once
    def doubt(self) -> str:
        """Sentence about massless bodies; '' if there are none."""
        doubts = Doubts()
        for name in self.massless_bodies:
            doubts.add(NO_MASS, name)
        return ''.join(doubts.sentences(self.name))

    @computed_once
    def frame_indices(self) -> dict[str, int]:
        """Index of each frame by name."""
        return {frame.name: i for i, frame in enumerate(self.frames)}

    def outline(self) -> list[tuple[Frame, int]]:
        """Links, each below its parent, with their depth."""
        children: dict[str, list[Frame]] = {}
        for frame in self.frames:
            children.setdefault(frame.parent, []).append(frame)
        found = []
        waiting = [(frame, 0) for frame in reversed(children.get('', []))]
        while waiting:
            frame, depth = waiting.pop()
            found.append((frame, depth))
            waiting += [(child, depth + 1) for child in reversed(children.get(frame.name, []))]
        return found

    def stroke(self, joint: Joint) -> float:
        """Largest displacement of the body's origin by a joint [m]; infinite if without bound."""
        limits = joint.limits
        if joint.leader is not None:
            limits = next(other.limits for other in self.joints if other.name == joint.leader)
        return joint.kind.reach(
            *(joint.multiplier * end + joint.offset for end in (limits.lower, limits.upper))
        )

    def joint_of(self, frame: Frame) -> Joint | None:
        """Return the joint that moves a link in its parent link, or None for a fixed link."""
        moved = frame.body != ROOT and self.body_names[frame.body] == frame.name
        return self.joints[frame.body] if moved else None

    @computed_once
    def fixed_frames(self) -> tuple[Frame, ...]:
        """Links fixed to their parent link, in the order of the description."""
        moving = set(self.body_names)
        return tuple(one for one in self.frames if one.parent and one.name not in moving)

    def frame(self, name: str) -> Frame:
        """Return the frame with a given name.

        Raises:
            UnknownFrameError: the model has no such frame.
        """
        index = self.frame_indices.get(name) if isinstance(name, str) else None
        if index is None:
            raise UnknownFrameError('frame', name, self.frame_indices)
        return self.frames[index]

    @computed_once
    def root_joint_nq(self) -> int:
        """Number of coordinates of the root joint, which precede those of the joints."""
        return 0 if self.root_joint == 'fixed' else self.joints[0].kind.nq

    @computed_once
    def root_joint_nv(self) -> int:
        """Number of velocities of the root joint, which precede those of the joints."""
        return 0 if self.root_joint == 'fixed' else self.joints[0].kind.nv

    @computed_once
    def actuated(self) -> tuple[Joint, ...]:
        """Joints with coordinates of their own after the root joint, in the order of q."""
        first = 0 if self.root_joint == 'fixed' else 1
        leaders = [joint for joint in self.joints[first:] if joint.leader is None]
        return tuple(sorted(leaders, key=lambda joint: joint.q_indices))

    @property
    def has_mimic_joints(self) -> bool:
        """Whether joints share coordinates."""
        return any(joint.leader is not None for joint in self.joints)

    @computed_once
    def depths(self) -> tuple[int, ...]:
        """For each joint, the number of joints from the root to the joint itself."""
        depths: list[int] = []
        for joint in self.joints:  # parents come before children
            depths.append(1 + (0 if joint.parent == ROOT else depths[joint.parent]))
        return tuple(depths)

    @computed_once
    def squared_depths(self) -> int:
        """Sum of the squared depths: growth of the cost of linear systems with the mass matrix."""
        return sum(depth * depth for depth in self.depths)

    def ancestors(self, body: int) -> list[int]:
        """Return the joints that move a body, from the root to the body itself."""
        chain: list[int] = []
        while body != ROOT:
            chain.append(body)
            body = self.joints[body].parent
        return chain[::-1]

    def with_gravity(self, gravity: Sequence[float]) -> Model:
        """Return the same robot with another gravity [m/s^2] in the root frame."""
        return replace(self, gravity=checked_gravity(gravity))

    def with_added_inertia(self, frame: str, inertia: Inertia) -> Model:
        """Return the robot with a rigid body added at a frame, its inertia given in that frame."""
        carrier = self.frame(frame)
        if carrier.body == ROOT:
            return self
        inertias = list(self.inertias)
        inertias[carrier.body] = inertias[carrier.body] + carrier.placement.act(inertia)
        return replace(self, inertias=tuple(inertias))


def combined(motions: Sequence[Motion], factors: Sequence[Scalar]) -> Motion:
    """Return the sum of motions, each times its factor."""
    total = Motion.zero()
    for motion, factor in zip(motions, factors, strict=True):
        total = total + motion * factor
    return total


def checked_gravity(gravity: Sequence[float]) -> Vector3:
    """Return gravity [m/s^2] as a vector.

    Raises:
        InvalidArgumentError: not three finite numbers.
    """
    try:
        values = [float(component) for component in gravity]
    except (TypeError, ValueError, OverflowError, LookupError):
        values = []
    if len(values) != 3 or not all(abs(component) <= MAXIMUM_NUMBER for component in values):
        raise InvalidArgumentError(
            'gravity', repr(gravity), 'three finite numbers [m/s^2], as (0, 0, -9.81)'
        )
    return Vector3(*values)
