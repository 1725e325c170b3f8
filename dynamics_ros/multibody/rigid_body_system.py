# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""RigidBodySystem: a model and its kernels, with a NumPy interface."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from numbers import Integral
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms import configuration
from dynamics_ros.algorithms.quantity import Key
from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.kernels.graph.symbols import is_symbolic, symbols
from dynamics_ros.model import Joint, Model, build_model, composition
from dynamics_ros.model.build import RootJoint
from dynamics_ros.model.description_file import expanded_xacro
from dynamics_ros.model.joints import JointKind
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.spatial import Transform

from .arguments import boolean_mask, finite_arrays, payload_inertia, real_array, rigid_pose
from .kernel_methods import Array, Arrays, Compiled, Parameters, Wrenches, kernel_method
from .quantity_methods import QuantityMethods

_Kind = TypeVar('_Kind', bound='RigidBodySystem')


DEFAULT_GRAVITY = (0.0, 0.0, -9.81)


class RigidBodySystem(QuantityMethods):
    """Kinematics and dynamics of one robot, without constraints and inverse kinematics.

    Every method takes and returns float64 arrays and broadcasts over leading axes: q of shape
    (..., nq) gives results of shape (..., ...). SI units. A wrong shape, NaN or infinity raises
    InvalidArgumentError, an unknown frame UnknownFrameError. The object is immutable; its methods
    may be called from several threads.

    Attributes:
        name: name in the description.
        nq, nv: sizes of q and v.
        joint_names: joints with coordinates of their own after the root joint, in the order of q.
        joint_q_indices, joint_v_indices: index into q and v of the joints of one coordinate.
        frame_names: every link of the description.
        body_names: the link that each moving joint moves.
        tool_frame: the frame of methods that are called without one: the end of the longest chain,
            before fingers; ``inspect`` says why.
        root_frame: the frame that poses are given in: the root link, or 'world' for a moving base.
        total_mass: mass of the moving bodies [kg].
        massless_bodies: bodies of ``body_names`` whose mass the description seems to lack; torques
            then lack their weight and inertia.
        lower_limits, upper_limits: per coordinate after the root joint [rad or m].
        velocity_limits, effort_limits: per velocity after the root joint; inf if unlimited.
        model: the underlying Model.
    """

    def __init__(self, model: Model, backend: str = 'auto') -> None:
        """Create the system of a model.

        Args:
            model: as built by ``dynamics_ros.model.build_model``.
            backend: 'llvm', 'python', or 'auto' for LLVM if llvmlite is installed.
        """
        of_subclass = {*vars(self)}
        super().__init__(model, backend)
        self.name = model.name
        self.root_frame = model.root_frame
        joints = model.actuated
        self.joint_names = tuple(joint.name for joint in joints)
        single = [joint for joint in joints if joint.kind.nq == 1]
        self.joint_q_indices = MappingProxyType({x.name: x.q_indices[0] for x in single})
        self.joint_v_indices = MappingProxyType({x.name: x.v_indices[0] for x in single})
        self.frame_names = tuple(frame.name for frame in model.frames)
        self.body_names = model.body_names
        self.tool_frame = model.tool_frame
        self.massless_bodies = model.massless_bodies
        self.total_mass = float(sum(inertia.mass for inertia in model.inertias))
        self.lower_limits = _limits(joints, 'lower', 'q_indices')
        self.upper_limits = _limits(joints, 'upper', 'q_indices')
        self.velocity_limits = _limits(joints, 'velocity', 'v_indices')
        self.effort_limits = _limits(joints, 'effort', 'v_indices')
        self._without_payload = model
        # A subclass may add attributes at any time.
        self._complete = type(self).__module__.partition('.')[0] == __name__.partition('.')[0]
        self._own = frozenset({'_own', *vars(self)} - of_subclass)

    @classmethod
    def from_urdf(
        cls: type[_Kind],
        source: str | os.PathLike[str],
        root_joint: RootJoint = 'fixed',
        gravity: Sequence[float] = DEFAULT_GRAVITY,
        locked_joints: Mapping[str, float] | None = None,
        backend: str = 'auto',
        adjustable: bool = False,
        xacro_arguments: Mapping[str, object] | None = None,
        joint_kinds: Mapping[str, JointKind] | None = None,
    ) -> _Kind:
        """Read a robot from URDF.

        Args:
            source: URDF XML text, or a path to a file. A file whose name ends in .xacro is expanded
                by the package xacro, which runs expressions of the file: use trusted files only.
            root_joint: how the root link moves in the world: 'fixed', 'floating' or 'planar'.
            gravity: in the root frame [m/s^2].
            locked_joints: joint name to the constant position at which it is locked.
            backend: 'llvm', 'python' or 'auto'.
            adjustable: whether gravity, and a payload at the tool, may change without compilation:
                see ``adjustable``. The tool is ``tool_frame``.
            xacro_arguments: values of the arguments (``<xacro:arg>``) of a xacro file by name.
            joint_kinds: joint name to the kind that replaces its type in the description, such as
                a subclass of ``dynamics_ros.model.joints.VaryingJoint``.

        Raises:
            ModelError: the description is not a robot; the error names element and reason.
            InvalidArgumentError: another argument is wrong.
        """
        if str(source).endswith('.xacro'):
            source = expanded_xacro(source, xacro_arguments or {})
        model = build_model(read_urdf(source), root_joint, gravity, locked_joints, joint_kinds)
        robot = cls(model, backend=backend)
        return robot.adjustable(robot.tool_frame) if adjustable else robot

    def adjustable(self: _Kind, *frames: str) -> _Kind:
        """Return the same robot with gravity and payload as inputs of its kernels, not constants.

        ``with_gravity`` and ``with_payload`` of such a robot compile nothing: the robots that they
        return share its kernels, each with numbers of its own. Its dynamics takes some more
        operations, because fewer values are known at compile time.

        Args:
            frames: frames that hold payloads. A payload at a frame of another body makes a robot
                with new kernels, to which that body is added.

        Raises:
            UnknownFrameError: no such frame.
        """
        parameters = Parameters.adjustable(self.model.frame(frame).body for frame in frames)
        return self._remade(self.model, self._without_payload, parameters)

    def __repr__(self) -> str:
        base = self.model.root_joint
        counts = f'{len(self.joint_names)} joints, {len(self.frame_names)} links'
        summary = f'{counts}, {base} base, {self.total_mass:.4g} kg'
        return f'<{type(self).__name__} {printable(self.name)!r}: {summary}>'

    def tree(self) -> str:
        """Return the links as indented text, each below its parent with the joint that moves it."""
        lines = []
        for frame, depth in self.model.outline():
            joint = self.model.joint_of(frame)
            text = f'  {_joint_text(joint)}' if joint else ''
            lines.append(f'{"  " * depth}{printable(frame.name)}{text}')
        return '\n'.join(lines)

    # Configurations.

    def neutral(self) -> Array:
        """The configuration (nq) in which every joint transform is the identity.

        It may violate limits; ``nominal`` does not.
        """
        return np.array(configuration.neutral(self.model))

    def nominal(self) -> Array:
        """A configuration (nq) within the limits: neutral, or the middle of a range without 0."""
        return np.array(configuration.nominal(self.model))

    def random_configuration(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration (nq), uniform within the limits.

        Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

        Args:
            rng: a NumPy generator, or a seed.
        """
        return random_configuration(self.model.joints, self.nq, rng)

    @kernel_method
    def integrate(
        self, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0, *, out: Array | None = None
    ) -> Array:
        """The configuration (..., nq) after a time at the constant velocity v ([SE3] 7).

        Args:
            q, v: configuration and velocity.
            dt: (...) time [s].
        """
        if type(dt) is not float or dt != 1.0:
            v = _over_time(v, dt)
        return self._run(('integrate',), q, v, out=out)

    @kernel_method
    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
        external_wrenches: Wrenches | None = None,
        *,
        out: Arrays | None = None,
    ) -> tuple[Array, Array]:
        """All accelerations and torques (..., nv each) from one of the two per joint ([Lie] 2.3).

        Args:
            q, v: configuration and velocity.
            a: accelerations, read where prescribed.
            tau: torques, read where not prescribed.
            prescribed: (nv) booleans; one kernel is compiled for each mask that is used.
            external_wrenches: as for ``inverse_dynamics``.

        Raises:
            SingularError: a free joint moves nothing that has mass or inertia.
            InvalidArgumentError: numbers so large that the result overflows.
        """
        key, given, known = self._given('hybrid_dynamics', a, tau, prescribed)
        if external_wrenches is None:
            accelerations, torques = self._run(key, q, v, given, known, out=out)
            return accelerations, torques
        # The result is the torque that remains after the wrenches' equivalent joint torques.
        push = self.wrench_torques(q, external_wrenches)
        accelerations, torques = self._run(key, q, v, given, known + push, out=out)
        torques -= push
        return accelerations, torques

    # Torques of external wrenches.

    def wrench_torques(self, q: ArrayLike, external_wrenches: Wrenches) -> Array:
        """J^T w (..., nv): joint torques equivalent to external wrenches ([RD] eq. 3.49 to 3.51).

        Args:
            q: (..., nq).
            external_wrenches: as for ``inverse_dynamics``.
        """
        still = np.zeros(self.nv)
        pushed = self.inverse_dynamics(q, still, still, external_wrenches)
        return np.asarray(self.gravity(q) - pushed)

    def wrench_torques_derivative(self, q: ArrayLike, external_wrenches: Wrenches) -> Array:
        """d(J^T w)/dq (..., nv, nv) along velocities of ``wrench_torques``.

        Args:
            q, external_wrenches: as for ``wrench_torques``; wrenches are constant in their frames.
        """
        still = np.zeros(self.nv)
        pushed, _, _ = self.inverse_dynamics_derivatives(q, still, still, external_wrenches)
        return np.asarray(self.inverse_dynamics_derivatives(q, still, still)[0] - pushed)

    def _given(
        self,
        name: str,
        a: ArrayLike,
        tau: ArrayLike,
        prescribed: Sequence[bool] | NDArray[np.bool_],
    ) -> tuple[Key, Any, Any]:
        """Return the kernel of hybrid dynamics for a mask, and its entries of a and tau."""
        mask = boolean_mask('prescribed', prescribed, self.nv)
        key = _key_of_mask(name, mask.tobytes())
        if is_symbolic([a, tau]):
            given, known = np.asarray(a), np.asarray(tau)
        else:
            # Entries that are not read may be anything, even NaN.
            given = np.where(mask, finite_arrays('a', a, (self.nv,), finite=False), 0.0)
            known = np.where(mask, 0.0, finite_arrays('tau', tau, (self.nv,), finite=False))
        return key, given, known

    # Dynamics as a linear function of inertial parameters.

    def inertial_parameters(self) -> Array:
        """pi (10 bodies) of the model, in the order of the columns of ``regressor``."""
        return np.array([inertia.parameters() for inertia in self.model.inertias]).ravel()

    # Robots made of this one.

    def shares_kernels_with(self, other: RigidBodySystem) -> bool:
        """Return whether both run the same machine code, with gravity and payload as inputs."""
        return self._shared_kernels is other._shared_kernels

    def with_gravity(self: _Kind, gravity: Sequence[float]) -> _Kind:
        """Return the robot, including its payload, with another gravity [m/s^2] in root axes."""
        return self._remade(
            self.model.with_gravity(gravity), self._without_payload.with_gravity(gravity)
        )

    def with_payload(
        self: _Kind,
        frame: str | None,
        mass: float = 0.0,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> _Kind:
        """Return the robot with a rigid payload, which replaces any previous one.

        Args:
            frame: the frame that the payload is fixed to; None removes the payload.
            mass: [kg]; 0 removes the payload.
            center_of_mass: (3) in the frame [m].
            inertia: (3, 3) about the centre of mass in the frame's axes [kg m^2]; None is a point
                mass.

        Raises:
            InvalidArgumentError: a negative mass, a wrong shape, or an inertia that is not
                symmetric positive semidefinite.
            UnknownFrameError: no such frame.
        """
        bare, parameters = self._without_payload, self._kernel_parameters
        payload = payload_inertia(mass, center_of_mass, inertia)
        if frame is None:
            return self._remade(bare, bare)
        body = bare.frame(frame).body
        if parameters.bodies is not None:
            parameters = Parameters.adjustable((*parameters.bodies, body))
        return self._remade(bare.with_added_inertia(frame, payload), bare, parameters)

    def with_frame(self: _Kind, name: str, parent: str, pose: ArrayLike) -> _Kind:
        """Return the robot with one more frame, such as a point of a tool.

        Args:
            name: name of the new frame.
            parent: the frame that it is fixed to.
            pose: (4, 4) pose of the new frame in its parent, or (position, quaternion x y z w).

        Raises:
            UnknownFrameError: no such parent.
            InvalidArgumentError: the name is taken, or the pose is not rigid.
        """
        X = _transform(pose)
        return self._composed(lambda model: composition.with_frame(model, name, parent, X))

    def with_tool(
        self: _Kind,
        tool: RigidBodySystem,
        at: str,
        pose: ArrayLike | None = None,
        prefix: str = '',
    ) -> _Kind:
        """Return the robot with another one fixed to one of its frames: a gripper, or a second arm.

        Coordinates, frames and bodies of the tool follow those of this robot. Gravity, root and
        payload are those of this robot; a payload of the tool is dropped.

        Args:
            tool: a robot with a fixed base, whose mass is included.
            at: the frame that carries it.
            pose: (4, 4) of its root link in that frame; None is the identity.
            prefix: prefix for all names of the tool, to resolve name clashes.

        Raises:
            UnknownFrameError: no such frame.
            InvalidArgumentError: the tool's base moves, both have equal names, or the pose is not
                rigid.
        """
        X = Transform.identity() if pose is None else _transform(pose)
        if not isinstance(tool, RigidBodySystem):
            raise InvalidArgumentError('tool', f'a {type(tool).__name__}', 'a robot')
        added = tool._without_payload
        return self._composed(lambda model: composition.with_tool(model, added, at, X, prefix))

    def with_locked(self: _Kind, positions: Mapping[str, float]) -> _Kind:
        """Return the robot with joints locked at positions, as ``locked_joints`` of ``from_urdf``.

        Args:
            positions: name to position [rad or m]; joints that mimic a joint are locked with it.

        Raises:
            UnknownJointError: no such joint.
            InvalidArgumentError: a joint without one coordinate of its own, or no finite position.
        """
        return self._composed(lambda model: composition.with_locked(model, positions))

    def _composed(self: _Kind, change: Callable[[Model], Model]) -> _Kind:
        """Return the robot of a changed model, applying the change with and without the payload."""
        bare = model = change(self.model)
        if self._without_payload is not self.model:
            bare = replace(model, inertias=change(self._without_payload).inertias)
        return self._remade(model, bare, self._kernel_parameters.moved(self.model, model))

    def _remade(
        self: _Kind, model: Model, without_payload: Model, parameters: Parameters | None = None
    ) -> _Kind:
        """Return a robot of the same class with attributes added by a subclass.

        It shares the kernels of this one if they fit.
        """
        now = self._kernel_parameters if parameters is None else parameters
        fits = now == self._kernel_parameters and now.fits(self.model, model)
        compiled = self._shared_kernels if fits else None
        made = _restored(type(self), model, self.backend, without_payload, now, compiled)
        other: _Kind = made  # type: ignore[assignment]
        other.__dict__.update(self._of_subclass())
        return other

    def _of_subclass(self) -> dict[str, Any]:
        """Return the attributes that a subclass has added."""
        own = vars(self).copy()  # another thread may add some
        return {name: value for name, value in own.items() if name not in self._own}

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code belongs to its process; a copy compiles its own.
        own = type(self), self.model, self.backend, self._without_payload, self._kernel_parameters
        return _restored, own, self._of_subclass()


def random_configuration(
    joints: Sequence[Joint], nq: int, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Return a configuration (nq), uniform within the limits of all joints of a model.

    Angles without limits are taken from [-pi, pi], displacements without limits from [-1, 1] m.

    Args:
        joints: joints of the model.
        nq: size of its configurations.
        rng: a NumPy generator, or a seed.

    Raises:
        InvalidArgumentError: ``rng`` is neither a generator nor a seed.
    """
    # NumPy also accepts arrays as seeds, but fails for a matrix.
    if not (rng is None or isinstance(rng, (np.random.Generator, Integral))):
        raise InvalidArgumentError('rng', f'a {type(rng).__name__}', 'a NumPy generator or a seed')
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InvalidArgumentError('rng', repr(rng), 'a NumPy generator or a seed') from None
    q = np.zeros(nq)
    for joint in joints:
        if joint.leader is None:
            limits = joint.limits
            q[list(joint.q_indices)] = joint.kind.random(generator, limits.lower, limits.upper)
    return q


def _over_time(v: ArrayLike, dt: ArrayLike) -> Array:
    """Return the motion v dt (..., nv) of a velocity."""
    if is_symbolic([v, dt]) and not np.ndim(dt):
        moved: Array = symbols(v) * dt
        return moved
    time = real_array('dt', dt, 'a number, or one for each state')
    if not np.isfinite(time).all():
        raise InvalidArgumentError('dt', 'NaN or infinite', 'a finite time in seconds')
    return real_array('v', v, 'shape (..., nv)') * time[..., None]


@lru_cache(maxsize=256)
def _key_of_mask(name: str, mask: bytes) -> Key:
    """Return the key of the hybrid dynamics kernel for a mask of prescribed joints."""
    return name, *(str(k) for k, prescribed in enumerate(mask) if prescribed)


def _transform(pose: ArrayLike) -> Transform:
    return Transform.from_array(rigid_pose('pose', pose))


def _joint_text(joint: Joint) -> str:
    """Describe a joint briefly: its name, kind, and its coordinates or the joint that it mimics."""
    kind = joint.kind.name
    if joint.leader is not None:
        return f'({printable(joint.name)}: {kind}, follows {printable(joint.leader)})'
    first, last = joint.q_indices[0], joint.q_indices[-1]
    place = f'{first}' if first == last else f'{first}:{last + 1}'
    return f'({printable(joint.name)}: {kind}, q[{place}])'


def _limits(joints: Sequence[Joint], name: str, indices: str) -> Array:
    """Return a limit of each coordinate or velocity of some joints, read-only."""
    values = [getattr(x.limits, name) for x in joints for _ in getattr(x, indices)]
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


def _restored(
    kind: type[RigidBodySystem],
    model: Model,
    backend: str,
    without_payload: Model,
    parameters: Parameters,
    compiled: Compiled | None = None,
) -> RigidBodySystem:
    # A subclass may take other arguments; attributes that its __init__ adds are copied.
    robot: RigidBodySystem = object.__new__(kind)
    RigidBodySystem.__init__(robot, model, backend)
    robot._use(parameters, compiled)
    robot._without_payload = without_payload
    return robot
