# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot in MuJoCo: its model, created from the `Model` of this package, and its state.

In MuJoCo, quaternions have w first, linear velocities of a base are in fixed axes, and mimic joints
have coordinates. Only this file converts between both conventions.

MuJoCo does not read the URDF. Bodies, joints and inertias are those of `Model`, so every supported
robot can be simulated, and both models are the same. A stiff constraint connects a mimic joint to
its leader; contacts are compliant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError, ModelError
from dynamics_ros.model.joints import ONE_COORDINATE
from dynamics_ros.model.model import ROOT, Joint, Model
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Matrix3, Transform, Vector3, matrix_to_quaternion

try:
    import mujoco
except ImportError:
    mujoco = None

Array = NDArray[np.float64]

MISSING = (
    'contacts and moving bases are simulated by MuJoCo, which is not installed (pip install mujoco)'
)
"""Error message if the Python package mujoco is not installed."""

CONTACT_TIME = 0.01
"""Time constant of a contact's compliance [s]."""

# Smallest mass [kg] and inertia [kg m^2] that MuJoCo compiles; true values are set afterwards.
_MIN_MASS = 1e-9
_MIMIC_IMPEDANCE = (0.9999, 0.9999, 1e-3, 0.5, 2.0)  # impedance of the constraint of a mimic joint
_FRICTION_IMPEDANCE_RATIO = 10.0  # impedance of friction relative to that of the normal direction
_NOSLIP_ITERATIONS = 3  # iterations that reduce the slip of feet within the friction cone
_TORSIONAL_ROLLING_FRICTION = 0.005, 0.0001  # without effect on points


@dataclass(frozen=True)
class Surroundings:
    """Ground, and collision shapes of a robot.

    Attributes:
        feet: radius of a sphere around the origin of each foot frame [m], by name of the frame.
        shapes: triangles (n, 3, 3) in the frame of each link [m], by name of the link; their convex
            hull is the collision shape.
        friction: friction coefficient of the ground.
        ground: whether there is a ground, the plane z = 0 of the root frame.
    """

    feet: Mapping[str, float]
    shapes: Mapping[str, Array]
    friction: float = 0.8
    ground: bool = True


NOTHING_AROUND = Surroundings({}, {}, ground=False)


class MujocoWorld:
    """One robot in MuJoCo; arrays have the order, units and axes of this package.

    Attributes:
        robot: the robot.
        model, data: MuJoCo's MjModel and MjData.
    """

    def __init__(
        self,
        robot: Robot,
        time_step: float,
        around: Surroundings = NOTHING_AROUND,
        armature: Array | None = None,
    ) -> None:
        """Create MuJoCo's model, in the neutral configuration.

        Args:
            robot: the robot.
            time_step: [s].
            around: ground and collision shapes.
            armature: (nv) rotor inertias reflected to the joints [kg m^2 or kg]; None for zero.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: MuJoCo rejects the model.
        """
        self.robot = robot
        self.model: Any = compiled(robot.model, time_step, around)
        self.data: Any = mujoco.MjData(self.model)
        rotors = np.zeros(robot.nv) if armature is None else armature
        self._map_joints()
        self.model.dof_armature[self._dof_indices] = rotors[self._v_indices]
        mujoco.mj_setConst(self.model, self.data)
        self._carriers: dict[int, tuple[str, int, Array]] = {}
        for name in (*around.feet, *around.shapes):
            frame = robot.model.frame(name)
            geoms = (_foot(name), _shape(name))
            for geom in (i for i in range(self.model.ngeom) if self.model.geom(i).name in geoms):
                offset = frame.placement.translation.array()
                self._carriers[geom] = (name, frame.body + 1, offset)
        self.place(robot.nominal())

    # --- state ----------------------------------------------------------------------------------

    def place(self, q: Array, v: Array | None = None) -> None:
        """Set the state: configuration q (nq) and velocity v (nv); None for rest."""
        mujoco.mj_resetData(self.model, self.data)
        for joint, at, dof in self._joint_addresses:
            own = joint.own_coordinates(q.tolist())
            if joint.kind.name == 'floating':
                own = [*own[:3], own[6], *own[3:6]]
            self.data.qpos[at : at + len(own)] = own
            if v is not None and joint.leader is not None:
                self.data.qvel[dof] = joint.multiplier * v[joint.v_indices[0]]
        if v is not None:
            self.data.qvel[self._dof_indices] = self._in_mujoco_axes(v)[self._v_indices]

    @property
    def q(self) -> Array:
        """Configuration (nq)."""
        q = np.empty(self.robot.nq)
        q[self._q_indices] = self.data.qpos[self._qpos_indices]
        if self._floats:
            q[3:7] = np.roll(q[3:7], -1)
        return q

    @property
    def v(self) -> Array:
        """Velocity (nv)."""
        v = np.empty(self.robot.nv)
        v[self._v_indices] = self.data.qvel[self._dof_indices]
        if self._floats:
            v[:3] = self._base_axes().T @ v[:3]
        return v

    def _in_mujoco_axes(self, vector: Array) -> Array:
        """Velocity or force (nv), with the linear part of a base rotated to fixed axes."""
        rotated = np.array(vector, dtype=float)
        if self._floats:
            rotated[:3] = self._base_axes() @ rotated[:3]
        return rotated

    def _base_axes(self) -> Array:
        """Rotation matrix of a floating base."""
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, self.data.qpos[3:7])
        return R.reshape(3, 3)

    # --- dynamics -------------------------------------------------------------------------------

    def step(self, tau: Array, damping: Array | None = None) -> None:
        """Advance by one time step.

        Args:
            tau: (nv) torques [Nm or N].
            damping: (nv) viscous friction, integrated implicitly [Nms/rad]; None for no change.
        """
        if damping is not None:
            self.model.dof_damping[self._dof_indices] = damping[self._v_indices]
        self._apply_torques(tau)
        mujoco.mj_step(self.model, self.data)

    def _apply_torques(self, tau: Array) -> None:
        self.data.qfrc_applied[self._dof_indices] = self._in_mujoco_axes(tau)[self._v_indices]

    def contact_wrenches(self) -> dict[str, Array]:
        """Wrenches of the ground on each frame in contact, at the start of the last step.

        Returns:
            By name of the foot or link: (6) force [N] and torque [Nm] about the origin of its
                frame, in
            axes of the root frame.
        """
        wrenches: dict[str, Array] = {}
        local = np.empty(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            # The rows of contact.frame are the axes of the contact; the force acts on geometry 2.
            first, second = (int(geom) for geom in contact.geom)
            sign, geom = (1.0, second) if second in self._carriers else (-1.0, first)
            name, body, offset = self._carriers[geom]
            mujoco.mj_contactForce(self.model, self.data, i, local)
            R = sign * contact.frame.reshape(3, 3).T
            force, torque = R @ local[:3], R @ local[3:]
            origin = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ offset
            wrench = np.concatenate([force, torque + np.cross(contact.pos - origin, force)])
            wrenches[name] = wrenches[name] + wrench if name in wrenches else wrench
        return wrenches

    def _map_joints(self) -> None:
        """Store the indices of coordinates and velocities in MuJoCo's arrays."""
        model = self.model
        self._joint_addresses: list[tuple[Joint, int, int]] = []
        pairs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []
        for joint in self.robot.model.joints:
            first = model.joint(_part(joint.name, 0)).id
            place, dof = int(model.jnt_qposadr[first]), int(model.jnt_dofadr[first])
            self._joint_addresses.append((joint, place, dof))
            if joint.leader is None:
                pairs[0].extend(zip(range(place, place + joint.kind.nq), joint.q_indices))
                pairs[1].extend(zip(range(dof, dof + joint.kind.nv), joint.v_indices))
        (self._qpos_indices, self._q_indices), (self._dof_indices, self._v_indices) = (
            np.array(indices, np.intp).reshape(-1, 2).T for indices in pairs
        )
        self._floats = self.robot.model.root_joint == 'floating'


def compiled(model: Model, time_step: float, around: Surroundings) -> Any:
    """MuJoCo's model (MjModel) of a robot; its body i + 1 is body i of ``model``.

    Args:
        model: the robot.
        time_step: [s].
        around: ground and collision shapes.

    Raises:
        DynamicsRosError: MuJoCo is not installed.
        ModelError: MuJoCo rejects the model.
    """
    if mujoco is None:
        raise DynamicsRosError(MISSING)
    spec = _spec(model, time_step, around)
    bodies = _add_bodies(spec, model)
    place = spec, bodies, model
    for name, radius in around.feet.items():
        sphere = {'type': mujoco.mjtGeom.mjGEOM_SPHERE, 'size': [radius, 0.0, 0.0]}
        _add_geometry(*place, name, _foot(name), around.friction, **sphere)
    for name, triangles in around.shapes.items():
        # Corners that several triangles share are added once.
        corners = np.unique(triangles.reshape(-1, 3), axis=0)
        mesh = spec.add_mesh(name=_shape(name), uservert=corners.ravel())
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        hull = {'type': mujoco.mjtGeom.mjGEOM_MESH, 'meshname': _shape(name)}
        _add_geometry(*place, name, _shape(name), around.friction, **hull)
    try:
        compiled_model = spec.compile()
    except ValueError as error:
        raise ModelError(f'robot {model.name!r}', f'MuJoCo rejects it: {error}') from error
    _set_inertias(compiled_model, model)
    return compiled_model


def _spec(model: Model, time_step: float, around: Surroundings) -> Any:
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.option.timestep = time_step
    spec.option.gravity = model.gravity.array()
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = _FRICTION_IMPEDANCE_RATIO
    spec.option.noslip_iterations = _NOSLIP_ITERATIONS
    spec.compiler.degree = False
    spec.compiler.balanceinertia = True
    spec.compiler.boundmass = spec.compiler.boundinertia = _MIN_MASS
    if around.ground:
        spec.worldbody.add_geom(
            name='ground',
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0.0, 0.0, 1.0],
            friction=[around.friction, *_TORSIONAL_ROLLING_FRICTION],
            solref=[max(CONTACT_TIME, 2.0 * time_step), 1.0],
        )
    return spec


def _add_bodies(spec: Any, model: Model) -> list[Any]:
    bodies: list[Any] = []
    for joint, inertia, name in zip(model.joints, model.inertias, model.body_names, strict=True):
        parent = spec.worldbody if joint.parent == ROOT else bodies[joint.parent]
        placement: Transform = joint.placement
        body = parent.add_body(
            name=name, pos=placement.translation.array(), quat=_quaternion(placement.rotation)
        )
        moments, axes = _principal(inertia.rotational)
        body.explicitinertial = True
        body.mass = max(float(inertia.mass), _MIN_MASS)
        body.ipos = inertia.center.array()
        body.iquat = _quaternion(axes)
        body.inertia = np.maximum(moments, _MIN_MASS)
        _add_joint(body, joint, joint.parent == ROOT and model.root_joint == 'floating')
        bodies.append(body)
    for joint in model.joints:
        if joint.leader is not None:
            equality = spec.add_equality(
                type=mujoco.mjtEq.mjEQ_JOINT,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=_part(joint.name, 0),
                name2=_part(joint.leader, 0),
            )
            equality.data[:5] = joint.offset, joint.multiplier, 0.0, 0.0, 0.0
            equality.solref = [2.0 * spec.option.timestep, 1.0]
            equality.solimp = _MIMIC_IMPEDANCE
    return bodies


def _add_geometry(
    spec: Any, bodies: list[Any], model: Model, link: str, name: str, friction: float, **shape: Any
) -> None:
    """Add a shape in the frame of a link; it touches only the ground, and has no mass."""
    frame = model.frame(link)
    parent = spec.worldbody if frame.body == ROOT else bodies[frame.body]
    parent.add_geom(
        name=name,
        pos=frame.placement.translation.array(),
        quat=_quaternion(frame.placement.rotation),
        mass=0.0,
        friction=[friction, *_TORSIONAL_ROLLING_FRICTION],
        contype=0,
        conaffinity=1,
        **shape,
    )


def _add_joint(body: Any, joint: Joint, floats: bool) -> None:
    """Add a joint of MuJoCo for each direction of motion; a ball joint has three directions.

    Args:
        body: that it moves.
        joint: the joint.
        floats: whether it is that of the base, which alone may float.
    """
    kind, axis = joint.kind, joint.kind.axis
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    parts: list[tuple[Any, Vector3]]
    if kind.name in ONE_COORDINATE:
        parts = [(slide if kind.slides[0] else hinge, axis)]
    elif kind.name == 'floating' and floats:
        ball = mujoco.mjtJoint.mjJNT_BALL
        unit = Matrix3.identity()
        parts = [*((slide, unit.column(i)) for i in range(3)), (ball, axis)]
    else:
        raise ModelError(f'joint {joint.name!r}', f'{kind.name} joints are not simulated')
    for i, (type_, direction) in enumerate(parts):
        mujoco_joint = body.add_joint(
            name=_part(joint.name, i), type=type_, axis=direction.array(), limited=0
        )
        limits = joint.limits
        if np.isfinite([limits.lower, limits.upper]).all():
            # A mimic joint is limited by the limits of its leader.
            mujoco_joint.limited = int(joint.leader is None and limits.lower < limits.upper)
            mujoco_joint.range = [limits.lower, limits.upper]


def _set_inertias(own: Any, model: Model) -> None:
    """Set the true masses and inertias, also values that are too small for MuJoCo's compiler."""
    for body, inertia in enumerate(model.inertias, start=1):
        moments, axes = _principal(inertia.rotational)
        own.body_mass[body] = inertia.mass
        own.body_inertia[body] = moments
        own.body_iquat[body] = _quaternion(axes)


def _principal(inertia: Matrix3) -> tuple[Array, Matrix3]:
    """Principal moments of inertia in descending order, and right-handed principal axes."""
    moments, axes = np.linalg.eigh(inertia.array())
    axes = axes[:, ::-1]
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return moments[::-1].copy(), Matrix3.from_array(axes)


def _quaternion(R: Matrix3) -> list[float]:
    """Quaternion of a rotation matrix in MuJoCo's order (w, x, y, z)."""
    x, y, z, w = (float(value) for value in matrix_to_quaternion(R))
    return [w, x, y, z]


def _part(joint: str, index: int) -> str:
    return f'{joint} {index}'


def _foot(frame: str) -> str:
    return f'foot {frame}'


def _shape(link: str) -> str:
    return f'link {link}'
