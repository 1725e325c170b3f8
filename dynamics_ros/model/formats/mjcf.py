# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of MJCF text or files to a RobotDescription, with the library mujoco as compiler.

It reads bodies, their joints of any type and number, inertias, limits, sites as links without mass,
joint equalities as mimic joints, and connect and weld equalities as loops between two links without
mass. A link has the frame of its body.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dynamics_ros.errors import ModelError
from dynamics_ros.files import read_file
from dynamics_ros.model.description import (
    Contents,
    Inertial,
    JointDescription,
    Limits,
    LinkDescription,
    Loop,
    Matrix3,
    Mimic,
    Origin,
    RobotDescription,
    Triple,
)
from dynamics_ros.model.doubts import LOG, Doubts
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER, quoted, quoted_path
from dynamics_ros.model.topology import resolve_mimics
from dynamics_ros.spatial.rotation import quaternion_to_matrix

TYPES = ('floating', 'spherical', 'prismatic', 'revolute')
"""Joint types in MuJoCo's order: free, ball, slide, hinge."""

OF_BODIES = ('body_mass', 'body_inertia', 'body_ipos', 'body_pos')
OF_JOINTS = ('jnt_pos', 'jnt_range')
OF_FREEDOMS = ('dof_damping', 'dof_frictionloss', 'dof_armature')
"""MuJoCo's names of arrays with one row per degree of freedom."""

LEFT_OUT = 'MJCF has {tag}, of which the dynamics of rigid bodies knows nothing: {{}}'


def read_mjcf(source: str | os.PathLike[str]) -> Contents:
    """Read a robot.

    Args:
        source: MJCF text, or a path to a file.

    Raises:
        ModelError: mujoco is not installed, or refuses the source.
    """
    return _Reader(_compiled(source)).read()


def _compiled(source: str | os.PathLike[str]) -> Any:
    """Return the MjModel of a source."""
    text = isinstance(source, str) and source.lstrip('\ufeff \t\r\n')[:1] == '<'
    element = 'MJCF' if text else f'file {quoted_path(source)}'
    try:
        import mujoco
    except ImportError:
        reason = 'is read by the package mujoco, which is not installed (pip install mujoco)'
        raise ModelError(element, reason) from None
    try:
        if text:
            return mujoco.MjModel.from_xml_string(source)
        read_file(source)  # mujoco would wait for a pipe, and says nothing of what it cannot open
        return mujoco.MjModel.from_xml_path(os.fspath(source))
    except OSError as error:
        raise ModelError(element, f'cannot be read: {error.strerror}') from None
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(element, f'mujoco refuses it: {error}') from error


class _Reader:
    """Reader that walks the bodies of a compiled model once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = _text(model.names, 0) or 'mjcf'
        self.doubts = Doubts()
        self.links: list[LinkDescription] = []
        self.joints: dict[str, JointDescription] = {}
        self.taken: set[str] = set()
        self.body_links = [self.free_name(self.name_of('body', i)) for i in range(model.nbody)]
        self.mimics = dict(self.followers())
        self.loops: list[Loop] = []
        self.passive: dict[str, None] = {}

    def name_of(self, kind: str, index: int) -> str:
        """Return the name of an element, or its kind and number if it has none."""
        return getattr(self.model, kind)(index).name or f'{kind}_{index}'

    def free_name(self, name: str) -> str:
        """Return a unique link name."""
        while name in self.taken:
            name = f'{name}_'
        self.taken.add(name)
        return name

    def read(self) -> Contents:
        import mujoco

        model = self.model
        self.check_numbers()
        base = self.floating_base()
        if base is None:
            self.links.append(LinkDescription(self.body_links[0]))
            self.add_sites(0)
        for body in range(1, model.nbody):
            self.add_body(body, is_base=body == base)
            self.add_sites(body)
        self.add_loops(base)
        self.note_what_is_left_out()
        doubts = self.doubts.sentences(self.name)
        for sentence in doubts:
            LOG.warning('%s', sentence)
        description = RobotDescription(
            name=self.name,
            root=self.links[0].name,
            links=tuple(self.links),
            joints=tuple(resolve_mimics(self.joints).values()),
            loops=tuple(self.loops),
            passive_joints=tuple(self.passive),
            doubts=doubts,
        )
        root_joint = 'fixed' if base is None else 'floating'
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        gravity = (0.0, 0.0, 0.0) if off else _triple(model.opt.gravity)
        return Contents(description, root_joint=root_joint, gravity=gravity)

    def check_numbers(self) -> None:
        """Refuse numbers with which dynamics would overflow, as the URDF reader does."""
        model = self.model
        rows: dict[str, tuple[str, Iterable[int]]] = {
            **dict.fromkeys(OF_BODIES, ('body', range(model.nbody))),
            **dict.fromkeys(OF_JOINTS, ('joint', range(model.njnt))),
            **dict.fromkeys(OF_FREEDOMS, ('joint', model.dof_jntid)),
            'site_pos': ('site', range(model.nsite)),
            'eq_data': ('equality', range(model.neq)),
        }
        for array, (kind, owners) in rows.items():
            for owner, row in zip(owners, np.asarray(getattr(model, array)), strict=True):
                if not np.all(np.abs(row) <= MAXIMUM_NUMBER):
                    element = f'{kind} {quoted(self.name_of(kind, int(owner)))}'
                    raise ModelError(element, f'{array} has {row}, which is too large')

    def floating_base(self) -> int | None:
        """Return the body whose single free joint carries everything, or None."""
        model = self.model
        on_world = [i for i in range(1, model.nbody) if model.body_parentid[i] == 0]
        if len(on_world) != 1:
            return None
        types = [int(model.jnt_type[j]) for j in self.joints_of(on_world[0])]
        return on_world[0] if types == [0] else None

    def joints_of(self, body: int) -> range:
        first = int(self.model.body_jntadr[body])
        return range(first, first + int(self.model.body_jntnum[body]))

    def add_body(self, body: int, is_base: bool) -> None:
        """Add the link of a body, preceded by a chain of its joints."""
        model = self.model
        link = self.body_links[body]
        if not is_base:
            parent = self.body_links[int(model.body_parentid[body])]
            # Pose of the body, before its joints move it, in the current link.
            R, p = _matrix(model.body_quat[body]), np.array(model.body_pos[body])
            for joint in self.joints_of(body):
                R, p, parent = self.add_joint(joint, body, parent, R, p)
            if parent != link:
                name = self.joint_name(f'{link}_fixed')
                self.joints[name] = JointDescription(name, 'fixed', parent, link, _origin(R, p))
        diagonal, axes = model.body_inertia[body], _matrix(model.body_iquat[body])
        inertial = Inertial(
            float(model.body_mass[body]),
            _triple(model.body_ipos[body]),
            _matrix3(axes @ np.diag(diagonal) @ axes.T),
        )
        self.links.append(LinkDescription(link, inertial, bool(model.body_geomnum[body])))

    def add_joint(
        self, joint: int, body: int, parent: str, R: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """Add a joint; return the pose of the body in the link that it moves, and that link."""
        model = self.model
        kind = TYPES[int(model.jnt_type[joint])]
        name = self.name_of('joint', joint)
        anchor, axis = np.array(model.jnt_pos[joint]), np.array(model.jnt_axis[joint])
        if kind == 'floating':
            # Its coordinates are the pose in the world, whatever the body's own pose.
            R, p, anchor = np.eye(3), np.zeros(3), np.zeros(3)
        is_last = joint == self.joints_of(body)[-1] and not anchor.any()
        link = self.body_links[body] if is_last else self.free_name(name)
        zero = float(model.qpos0[model.jnt_qposadr[joint]])
        placed, turned = p + R @ anchor, R
        if kind == 'prismatic':
            placed = placed - R @ axis * zero
        elif kind == 'revolute':
            turned = R @ _turn(axis, -zero)
        first = int(model.jnt_dofadr[joint])
        limits = self.limits(joint, kind)
        if kind == 'revolute' and math.isinf(limits.lower) and math.isinf(limits.upper):
            kind = 'continuous'
        self.joints[name] = JointDescription(
            name,
            kind,
            parent,
            link,
            _origin(turned, placed),
            _triple(axis),
            limits,
            self.mimics.get(name),
            float(np.ravel(model.dof_damping[first])[0]),
            float(model.dof_frictionloss[first]),
            float(model.dof_armature[first]),
        )
        if not is_last:
            self.links.append(LinkDescription(link))
        return np.eye(3), -anchor, link

    def limits(self, joint: int, kind: str) -> Limits:
        """Return the limits of a joint of one coordinate, including its actuators' force limits."""
        model = self.model
        lower, upper = -math.inf, math.inf
        if kind in ('prismatic', 'revolute') and model.jnt_limited[joint]:
            lower, upper = map(float, model.jnt_range[joint])
        effort = math.inf
        if model.jnt_actfrclimited[joint]:
            effort = float(np.abs(model.jnt_actfrcrange[joint]).max())
        return Limits(lower, upper, effort=effort)

    def followers(self) -> Iterator[tuple[str, Mimic]]:
        """Yield joints that an equality couples to another: q1 = c0 + c1 q2 from their starts."""
        import mujoco

        model = self.model
        for i in range(model.neq):
            if not model.eq_active0[i]:
                continue
            kind = int(model.eq_type[i])
            if kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
                continue
            first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            constant, slope, *higher = map(float, model.eq_data[i][:5])
            if kind != mujoco.mjtEq.mjEQ_JOINT or second < 0 or any(higher) or not slope:
                self.doubts.add(LEFT_OUT.format(tag='equalities'), self.name_of('equality', i))
                continue
            start, other = (float(model.qpos0[model.jnt_qposadr[x]]) for x in (first, second))
            offset = start + constant - slope * other
            yield self.name_of('joint', first), Mimic(self.name_of('joint', second), slope, offset)

    def add_sites(self, body: int) -> None:
        """Add the named sites of a body as links without mass."""
        model = self.model
        for site in np.flatnonzero(model.site_bodyid == body):
            if not model.site(site).name:
                continue
            origin = _origin(_matrix(model.site_quat[site]), model.site_pos[site])
            self.add_frame(model.site(site).name, body, origin)

    def add_frame(self, name: str, body: int, origin: Origin) -> str:
        """Add a link without mass that is fixed to a body; return its name."""
        link = self.free_name(name)
        joint = self.joint_name(f'{link}_fixed')
        self.joints[joint] = JointDescription(joint, 'fixed', self.body_links[body], link, origin)
        self.links.append(LinkDescription(link))
        return link

    def add_loops(self, base: int | None) -> None:
        """Add connect and weld equalities, and the joints of their loops that no actuator moves."""
        import mujoco

        model, actuated = self.model, self.actuated_joints()
        kinds = {int(mujoco.mjtEq.mjEQ_CONNECT): 'position', int(mujoco.mjtEq.mjEQ_WELD): 'pose'}
        for i in range(model.neq):
            kind = kinds.get(int(model.eq_type[i]))
            if kind is None or not model.eq_active0[i]:
                continue
            name, data = self.name_of('equality', i), np.array(model.eq_data[i])
            ids = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            if int(model.eq_objtype[i]) == int(mujoco.mjtObj.mjOBJ_SITE):
                bodies = [int(model.site_bodyid[x]) for x in ids]
                ends = [_origin(_matrix(model.site_quat[x]), model.site_pos[x]) for x in ids]
            elif kind == 'position':
                bodies, ends = list(ids), [_origin(np.eye(3), data[k : k + 3]) for k in (0, 3)]
            else:  # the anchor is in the second body, its pose at the start in the first
                bodies = list(ids)
                ends = [_origin(_matrix(data[6:10]), data[3:6]), _origin(np.eye(3), data[:3])]
            if base is not None and 0 in bodies:  # the world has no link
                self.doubts.add(LEFT_OUT.format(tag='equalities'), name)
                continue
            frame, other = (self.add_frame(f'{name}_{k + 1}', bodies[k], ends[k]) for k in range(2))
            self.loops.append(Loop(frame, other, kind))
            first, second = (set(self.bodies_to(body)) for body in bodies)
            joints = [j for body in sorted(first ^ second) for j in self.joints_of(body)]
            if model.nu:
                names = (self.name_of('joint', j) for j in joints)
                moved = {*self.mimics, *actuated}
                self.passive |= dict.fromkeys(name for name in names if name not in moved)

    def bodies_to(self, body: int) -> Iterator[int]:
        """Yield a body and those that carry it."""
        while body:
            yield body
            body = int(self.model.body_parentid[body])

    def actuated_joints(self) -> dict[str, None]:
        """Return the joints that actuators move, themselves, by tendons or as leaders."""
        import mujoco

        model, joints = self.model, set()
        for kind, target in zip(model.actuator_trntype, model.actuator_trnid[:, 0], strict=True):
            if int(kind) == int(mujoco.mjtTrn.mjTRN_TENDON):
                start = int(model.tendon_adr[target])
                for k in range(start, start + int(model.tendon_num[target])):
                    if int(model.wrap_type[k]) == int(mujoco.mjtWrap.mjWRAP_JOINT):
                        joints.add(int(model.wrap_objid[k]))
            elif int(kind) in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
                joints.add(int(target))
        names = [self.name_of('joint', j) for j in sorted(joints)]
        return dict.fromkeys(self.mimics[x].joint if x in self.mimics else x for x in names)

    def joint_name(self, name: str) -> str:
        """Return a unique name for a fixed joint."""
        others = {self.name_of('joint', i) for i in range(self.model.njnt)}
        while name in self.joints or name in others:
            name = f'{name}_'
        return name

    def note_what_is_left_out(self) -> None:
        model = self.model
        for tag, kind, found in (
            ('springs', 'joint', [np.any(x) for x in model.jnt_stiffness]),
            ('tendons', 'tendon', np.ones(model.ntendon, dtype=bool)),
            ('compensation of gravity', 'body', model.body_gravcomp != 0.0),
        ):
            for i in np.flatnonzero(found):
                self.doubts.add(LEFT_OUT.format(tag=tag), self.name_of(kind, int(i)))


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b'\0', start)].decode(errors='replace')


def _matrix(quaternion: Any) -> np.ndarray:
    """Rotation matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = map(float, quaternion)
    return np.array([[*row] for row in quaternion_to_matrix((x, y, z, w)).rows], dtype=float)


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    sine = math.sin(0.5 * angle)
    return _matrix((math.cos(0.5 * angle), *(sine * axis)))


def _triple(values: Any) -> Triple:
    x, y, z = map(float, values)
    return x, y, z


def _matrix3(matrix: np.ndarray) -> Matrix3:
    first, second, third = map(_triple, matrix)
    return first, second, third


def _origin(R: np.ndarray, p: Any) -> Origin:
    return Origin(_triple(p), _matrix3(R))
