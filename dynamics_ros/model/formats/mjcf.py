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
from collections.abc import Iterator
from typing import Any

import numpy as np

from dynamics_ros.files import read_file
from dynamics_ros.model.description import Contents, Limits, LinkDescription, Loop, Mimic
from dynamics_ros.model.hardened_xml import is_text
from dynamics_ros.spatial.rotation import quaternion_to_matrix

from .tree import Tree, check, library, triple

TYPES = ('floating', 'spherical', 'prismatic', 'revolute')
"""Joint types in MuJoCo's order: free, ball, slide, hinge."""

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
    with library('mujoco', 'MJCF', source):
        import mujoco

        try:
            if is_text(source):
                return mujoco.MjModel.from_xml_string(source)
            # mujoco would wait for a pipe, and says nothing of what it cannot open.
            read_file(source)
            return mujoco.MjModel.from_xml_path(os.fspath(source))
        except mujoco.FatalError as error:
            raise ValueError(str(error)) from error


class _Reader:
    """Reader that walks the bodies of a compiled model once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        joints = {self.name_of('joint', i) for i in range(model.njnt)}
        name = model.names[: model.names.index(b'\0')].decode(errors='replace')
        self.tree = Tree(name or 'mjcf', joints)
        self.body_links = [self.tree.free_name(self.name_of('body', i)) for i in range(model.nbody)]
        self.mimics = dict(self.followers())
        self.loops: list[Loop] = []
        self.passive: dict[str, None] = {}

    def name_of(self, kind: str, index: int) -> str:
        """Return the name of an element, or its kind and number if it has none."""
        return getattr(self.model, kind)(index).name or f'{kind}_{index}'

    def read(self) -> Contents:
        import mujoco

        model = self.model
        base = self.floating_base()
        if base is None:
            self.tree.links.append(LinkDescription(self.body_links[0]))
            self.add_sites(0)
        for body in range(1, model.nbody):
            self.add_body(body, is_base=body == base)
            self.add_sites(body)
        self.add_loops(base)
        self.note_what_is_left_out()
        root_joint = 'fixed' if base is None else 'floating'
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        gravity = (0.0, 0.0, 0.0) if off else triple(model.opt.gravity)
        return self.tree.contents(root_joint, gravity, tuple(self.loops), tuple(self.passive))

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
                self.tree.fix(parent, link, (R, p))
        axes, mass = _matrix(model.body_iquat[body]), float(model.body_mass[body])
        inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
        geometry = bool(model.body_geomnum[body])
        self.tree.add_link(link, mass, model.body_ipos[body], inertia, geometry)

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
        link = self.body_links[body] if is_last else self.tree.free_name(name)
        zero = float(model.qpos0[model.jnt_qposadr[joint]])
        placed, turned = p + R @ anchor, R
        if kind == 'prismatic':
            placed = placed - R @ axis * zero
        elif kind == 'revolute':
            turned = R @ _turn(axis, -zero)
        first = int(model.jnt_dofadr[joint])
        self.tree.add_joint(
            name,
            kind,
            parent,
            link,
            (turned, placed),
            axis=triple(axis),
            limits=self.limits(joint, kind),
            mimic=self.mimics.get(name),
            damping=float(np.ravel(model.dof_damping[first])[0]),
            friction=float(model.dof_frictionloss[first]),
            armature=float(model.dof_armature[first]),
        )
        if not is_last:
            self.tree.links.append(LinkDescription(link))
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
                self.tree.doubts.add(LEFT_OUT.format(tag='equalities'), self.name_of('equality', i))
                continue
            start, other = (float(model.qpos0[model.jnt_qposadr[x]]) for x in (first, second))
            offset = start + constant - slope * other
            check(f'equality {i}', slope, offset)
            yield self.name_of('joint', first), Mimic(self.name_of('joint', second), slope, offset)

    def add_sites(self, body: int) -> None:
        """Add the named sites of a body as links without mass."""
        model = self.model
        for site in np.flatnonzero(model.site_bodyid == body):
            if not model.site(site).name:
                continue
            pose = _matrix(model.site_quat[site]), model.site_pos[site]
            self.add_frame(model.site(site).name, body, pose)

    def add_frame(self, name: str, body: int, pose: Any) -> str:
        """Add a link without mass that is fixed to a body; return its name."""
        link = self.tree.free_name(name)
        self.tree.fix(self.body_links[body], link, pose)
        self.tree.links.append(LinkDescription(link))
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
                ends = [(_matrix(model.site_quat[x]), model.site_pos[x]) for x in ids]
            elif kind == 'position':
                bodies, ends = list(ids), [(np.eye(3), data[k : k + 3]) for k in (0, 3)]
            else:  # the anchor is in the second body, its pose at the start in the first
                bodies = list(ids)
                ends = [(_matrix(data[6:10]), data[3:6]), (np.eye(3), data[:3])]
            if base is not None and 0 in bodies:  # the world has no link
                self.tree.doubts.add(LEFT_OUT.format(tag='equalities'), name)
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

    def note_what_is_left_out(self) -> None:
        model = self.model
        for tag, kind, found in (
            ('springs', 'joint', [np.any(x) for x in model.jnt_stiffness]),
            ('tendons', 'tendon', np.ones(model.ntendon, dtype=bool)),
            ('compensation of gravity', 'body', model.body_gravcomp != 0.0),
        ):
            for i in np.flatnonzero(found):
                self.tree.doubts.add(LEFT_OUT.format(tag=tag), self.name_of(kind, int(i)))


def _matrix(quaternion: Any) -> np.ndarray:
    """Rotation matrix of a unit quaternion w, x, y, z."""
    w, x, y, z = map(float, quaternion)
    return np.array([[*row] for row in quaternion_to_matrix((x, y, z, w)).rows], dtype=float)


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    sine = math.sin(0.5 * angle)
    return _matrix((math.cos(0.5 * angle), *(sine * axis)))
