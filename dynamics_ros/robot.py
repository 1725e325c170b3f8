# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot: kinematics and dynamics of one robot, with constraints and inverse kinematics."""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from . import constraints
from .errors import InvalidArgumentError, ModelError, meant
from .inverse_kinematics import InverseKinematicsResult, Solutions, solve, solve_all
from .model import Model, build_model
from .model.build import RootJoint
from .model.formats import read_any
from .model.joints import JointKind
from .multibody.arguments import pose_matrices
from .multibody.end_effector import manipulability
from .multibody.kernel_methods import Array, Parameters
from .multibody.rigid_body_system import DEFAULT_GRAVITY, RigidBodySystem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .inverse_kinematics.problem import SolveAllOptions, SolveOptions
    from .page import RobotPage


_Kind = TypeVar('_Kind', bound='Robot')


class Robot(RigidBodySystem):
    """Kinematics and dynamics of one robot, with contacts, impacts and inverse kinematics.

    Every method takes and returns float64 arrays and broadcasts over leading axes: q of shape
    (..., nq) gives results of shape (..., ...); ``all_inverse_kinematics`` takes one target. SI
    units. A wrong shape, NaN or infinity raises InvalidArgumentError, an unknown frame
    UnknownFrameError. A robot is immutable; its methods may be called from several threads.

    ``contacts`` is one constraint of ``dynamics_ros.constraints`` or a sequence of them; a frame
    name means a point contact at the origin of the frame. Contact forces act on the robot.

    Attributes are those of ``RigidBodySystem``.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Model,
        root_joint: RootJoint | None = None,
        gravity: Sequence[float] | None = None,
        locked_joints: Mapping[str, float] | None = None,
        backend: str = 'auto',
        adjustable: bool = False,
        xacro_arguments: Mapping[str, object] | None = None,
        joint_kinds: Mapping[str, JointKind] | None = None,
        loops: Sequence[str] = (),
        passive_joints: Sequence[str] = (),
    ) -> None:
        """Read a robot from a description of any format, or take a model.

        MJCF is read by the library mujoco, SDF by drake. A single body on a free joint is then a
        floating base; sites and named frames become frames. q and v have the order of the file,
        with quaternions x, y, z, w and a base's velocity in its own frame. Damping, friction and
        armature are stored in the joints of ``model``, connect and weld equalities in its
        ``loops``. Other elements are ignored with a warning.

        Args:
            source: path of a URDF, xacro, MJCF or SDF file, or URDF, MJCF or SDF text; or a Model,
                to which the options of a description do not apply.
            root_joint: 'fixed', 'floating' or 'planar'; None takes that of MJCF or SDF, and 'fixed'
                for URDF.
            gravity: in the root frame [m/s^2]; None takes that of MJCF, and -9.81 along z else.
            locked_joints, backend, adjustable, xacro_arguments, joint_kinds: see ``from_urdf``.
            loops: two frames that coincide, each ``'frame other [position|pose|revolute]'``, beside
                those of MJCF. Inverse kinematics satisfies them; the dynamics methods are those of
                the open tree (``dynamics_ros.constraints.gravity_in_loops`` and others).
            passive_joints: joints of loops without a motor, beside those of MJCF.

        Raises:
            ModelError: the description is not a robot; the error names element and reason.
            InvalidArgumentError: another argument is wrong.
        """
        if isinstance(source, Model):
            options = (root_joint, gravity, locked_joints, xacro_arguments, joint_kinds)
            if loops or passive_joints or any(option is not None for option in options):
                expected = 'a description to which root_joint, gravity and the like apply'
                raise InvalidArgumentError('source', 'a Model', expected)
            model = source
        else:
            arguments = {name: str(value) for name, value in (xacro_arguments or {}).items()}
            contents = read_any(source, arguments)
            model = build_model(
                contents.robot.with_loops(loops, passive_joints),
                root_joint or contents.root_joint,
                gravity if gravity is not None else contents.gravity or DEFAULT_GRAVITY,
                locked_joints,
                joint_kinds,
            )
        super().__init__(model, backend)
        if adjustable:
            body = model.frame(model.tool_frame).body
            self._use(Parameters.adjustable([body]))

    @classmethod
    def from_name(cls: type[_Kind], name: str, **options: Any) -> _Kind:
        """Read a robot of the package ``robot_descriptions``, which downloads and caches it.

        Args:
            name: name of a description of that package, without ``_description`` or
                ``_mj_description``: 'panda', 'ur5e', 'go2'. URDF is preferred to MJCF.
            options: keyword arguments of ``Robot``.

        Raises:
            ModelError: the package is not installed, or has no such robot.
        """
        try:
            import robot_descriptions
        except ImportError:
            reason = 'is of the package robot_descriptions (pip install robot_descriptions)'
            raise ModelError(f'robot {name!r}', reason) from None
        known = {module.name for module in pkgutil.iter_modules(robot_descriptions.__path__)}
        for ending in ('_description', '_mj_description'):
            if f'{name}{ending}' in known:
                module = import_module(f'robot_descriptions.{name}{ending}')
                break
        else:
            names = {re.sub('(_mj)?_description$', '', x) for x in known if 'description' in x}
            reason = f'is not in robot_descriptions{meant(str(name), sorted(names))}'
            raise ModelError(f'robot {name!r}', reason)
        for path in ('URDF_PATH', 'XACRO_PATH', 'MJCF_PATH'):
            if hasattr(module, path):
                if path == 'XACRO_PATH':
                    own = options.get('xacro_arguments') or {}
                    options['xacro_arguments'] = {**getattr(module, 'XACRO_ARGS', {}), **own}
                return cls(getattr(module, path), **options)
        raise ModelError(f'robot {name!r}', 'has neither URDF nor MJCF in robot_descriptions')

    def manipulability(self, q: ArrayLike, frame: str | None = None) -> Array:
        """Yoshikawa's manipulability (...) of a frame, 0 at a singularity.

        Arguments are those of ``jacobian``; see
        ``dynamics_ros.multibody.end_effector.manipulability``.
        """
        return manipulability(self.jacobian(q, frame))

    # Contacts, impacts and end-effector dynamics: functions of ``dynamics_ros.constraints``, which
    # control loops call, so they are not wrapped in other functions.

    operational_space = constraints.operational_space
    constrained_forward_dynamics = constraints.constrained_forward_dynamics
    constrained_forward_dynamics_derivatives = constraints.constrained_forward_dynamics_derivatives
    constrained_inverse_dynamics = constraints.constrained_inverse_dynamics
    contact_forces = constraints.contact_forces
    impact = constraints.impact

    # Inverse kinematics.

    def inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str | Sequence[str] | None = None,
        seed: ArrayLike | None = None,
        **options: Unpack[SolveOptions],
    ) -> InverseKinematicsResult:
        """Finds a configuration within the joint limits that brings a frame to a target pose.

        Args:
            target: (..., 4, 4) pose in the root frame, (position, quaternion x y z w), or these
                seven numbers; m poses for a list of m frames.
            frame: name of the frame, or names of the frames, to bring to the target; None is
                ``tool_frame``.
            seed: (..., nq) first starting point; None starts at the middle of the limits.
            options: those of ``dynamics_ros.inverse_kinematics.Options``.

        Returns:
            The result, whose attributes are arrays if the target or the seed has leading axes.
            Without a solution its q is the closest configuration, and ``success`` is False.

        Raises:
            UnknownOptionError: an option does not exist.
        """
        return solve(self, target, frame, seed, **options)

    def all_inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str | None = None,
        seed: ArrayLike | None = None,
        **options: Unpack[SolveAllOptions],
    ) -> Solutions:
        """Finds the distinct inverse kinematics solutions, sorted by distance from the seed.

        Args:
            target, frame, seed: see ``inverse_kinematics``.
            options: those of ``dynamics_ros.inverse_kinematics.Options``.

        Raises:
            UnknownOptionError: an option does not exist.
        """
        target = pose_matrices('target', target)
        frame = self.tool_frame if frame is None else frame
        return solve_all(self, target, frame, seed, **options)

    # A web page.

    def show(
        self,
        configuration: ArrayLike | None = None,
        *,
        frame: str | None = None,
        description: str | os.PathLike[str] | None = None,
        port: int = 8080,
    ) -> RobotPage:
        """Serves a page on this machine that shows the robot, with a slider for each joint.

        In a notebook the page appears if the returned object is the last of a cell; a script calls
        its ``wait``. Needs viser, which the extra ``viewer`` installs, and no ROS.

        Arguments and errors are those of ``dynamics_ros.inspect.show``.
        """
        from .page import show

        return show(self, configuration, frame=frame, description=description, port=port)
