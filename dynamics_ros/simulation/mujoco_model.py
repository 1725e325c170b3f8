# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's model of a robot, created from the `Model` of this package.

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
from dynamics_ros.model.joints import ONE_COORDINATE, plane_axes
from dynamics_ros.model.model import ROOT, Joint, Model
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
_FRICTION_IMPEDANCE_RATIO = (
    10.0  # ratio of the impedance of friction to that of the normal direction
)
_NOSLIP_ITERATIONS = 3  # iterations that reduce the slip of feet within the friction cone
_TORSIONAL_ROLLING_FRICTION = (
    0.005,
    0.0001,
)  # torsional and rolling friction, without effect on points


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
    for name, radius in around.feet.items():
        _add_foot(spec, bodies, model, name, radius, around.friction)
    for name, triangles in around.shapes.items():
        _add_shape(spec, bodies, model, name, triangles, around.friction)
    try:
        compiled_model = spec.compile()
    except ValueError as error:
        raise ModelError(f'robot {model.name!r}', f'MuJoCo rejects it: {error}') from error
    _set_inertias(compiled_model, model)
    return compiled_model


def first_part(joint: str) -> str:
    """Name of the first of MuJoCo's joints that represent a joint of the robot."""
    return _part(joint, 0)


def geoms_of(own: Any, frame: str) -> list[int]:
    """Indices of MuJoCo's geometries of a foot or link."""
    names = _foot(frame), _shape(frame)
    return [i for i in range(own.ngeom) if own.geom(i).name in names]


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
        _add_joint(body, joint)
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


def _add_foot(
    spec: Any, bodies: list[Any], model: Model, name: str, radius: float, friction: float
) -> None:
    frame = model.frame(name)
    _parent_body(spec, bodies, frame.body).add_geom(
        name=_foot(name),
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[radius, 0.0, 0.0],
        pos=frame.placement.translation.array(),
        **_collision_options(friction),
    )


def _add_shape(
    spec: Any, bodies: list[Any], model: Model, name: str, triangles: Array, friction: float
) -> None:
    frame = model.frame(name)
    # Corners that several triangles share are added once.
    corners = np.unique(triangles.reshape(-1, 3), axis=0)
    mesh = spec.add_mesh(name=_shape(name), uservert=corners.ravel())
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    _parent_body(spec, bodies, frame.body).add_geom(
        name=_shape(name),
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=_shape(name),
        pos=frame.placement.translation.array(),
        quat=_quaternion(frame.placement.rotation),
        **_collision_options(friction),
    )


def _parent_body(spec: Any, bodies: list[Any], body: int) -> Any:
    return spec.worldbody if body == ROOT else bodies[body]


def _collision_options(friction: float) -> dict[str, Any]:
    """Options of a geometry that touches only the ground; its mass is that of the body."""
    sides = {'contype': 0, 'conaffinity': 1}
    return {'mass': 0.0, 'friction': [friction, *_TORSIONAL_ROLLING_FRICTION], **sides}


def _add_joint(body: Any, joint: Joint) -> None:
    """Add a joint of MuJoCo for each direction of motion; a ball joint has three directions."""
    kind, axis = joint.kind, joint.kind.axis
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    parts: list[tuple[Any, Vector3]]
    if kind.name in ONE_COORDINATE:
        parts = [(slide if kind.slides[0] else hinge, axis)]
    elif kind.name == 'planar':
        ex, ey = plane_axes(axis)
        parts = [(slide, ex), (slide, ey), (hinge, axis)]
    elif kind.name == 'floating':
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
