# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of cartesian_servo_node."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamics_ros.parameters.robot import COLLISION_MARGIN, DIRECTIONS, TargetParameters, fixed
from dynamics_ros.settings import parameter


@dataclass(frozen=True)
class SpeedParameters:
    """Limits of the speeds of the frame and the joints."""

    linear: float = parameter(
        0.5,
        'Largest linear speed of the frame; faster targets are scaled down',
        'm/s',
        (1e-6, 10.0),
    )
    angular: float = parameter(
        1.0,
        'Largest angular speed of the frame; faster targets are scaled down',
        'rad/s',
        (1e-6, 50.0),
    )
    joint: float = parameter(
        2.0,
        'Largest speed of a joint, in addition to those limits; inf: only those limits, which '
        'every commanded joint must then have',
        'rad/s or m/s',
        (1e-6, 100.0),
        may_be_infinite=True,
    )
    joint_acceleration: float = parameter(
        10.0,
        'Largest acceleration of a joint, at start, at stop and before limits',
        'rad/s^2 or m/s^2',
        (1e-3, 1000.0),
    )


@dataclass(frozen=True)
class SingularityParameters:
    """Slowing of motion towards a singularity; motion away from it is not slowed."""

    slow_condition: float = parameter(
        30.0,
        'Condition number of the Jacobian from which motion towards a singularity is slowed',
        limits=(1.0, 1e9),
    )
    stop_condition: float = parameter(
        60.0, 'Condition number at which motion towards a singularity stops', limits=(1.0, 1e9)
    )


AXES = 'along and around the axes of admittance.frame'


@dataclass(frozen=True)
class AdmittanceParameters:
    """Motion that yields to a measured wrench while ~/admittance/enable is true."""

    wrench_topic: str = fixed(
        '',
        'Topic (geometry_msgs/WrenchStamped) of the wrench of the environment on the frame '
        'header.frame_id, at its origin and in its axes. Empty: no admittance',
    )
    frame: str = parameter(
        '', 'Frame of the axes of mass, damping, stiffness. Empty: the moved one'
    )
    mass: tuple[float, ...] = parameter(
        (10.0, 10.0, 10.0, 0.5, 0.5, 0.5),
        f'Virtual mass and inertia {AXES}',
        'kg, kg m^2',
        (1e-3, 1e4),
        sizes=(6,),
    )
    damping: tuple[float, ...] = parameter(
        (150.0, 150.0, 150.0, 8.0, 8.0, 8.0),
        f'Virtual damping {AXES}',
        'Ns/m, Nms/rad',
        (1e-2, 1e6),
        sizes=(6,),
    )
    stiffness: tuple[float, ...] = parameter(
        (0.0,) * 6,
        f'Virtual stiffness {AXES}, to the pose at the start; 0: hand guiding',
        'N/m, Nm/rad',
        (0.0, 1e6),
        sizes=(6,),
    )
    locked: tuple[str, ...] = parameter(
        (),
        f'Directions that do not move, {AXES}: along x y z, and around them rx ry rz',
        choices=DIRECTIONS,
    )
    dead_zone: tuple[float, ...] = parameter(
        (3.0, 0.3),
        'Force and torque that move nothing; more than the noise of the sensor, or the tare is '
        'refused',
        'N, Nm',
        (0.0, 1e4),
        sizes=(2,),
    )
    largest_wrench: tuple[float, ...] = parameter(
        (200.0, 20.0),
        'Force and torque beyond which the wrench is not plausible, and the robot is stopped',
        'N, Nm',
        (0.0, 1e4),
        sizes=(2,),
    )
    reach: tuple[float, ...] = parameter(
        (0.5, 1.5),
        'Largest distance and angle of the frame from its pose at the start; inf: no limit',
        'm, rad',
        (0.0, 100.0),
        sizes=(2,),
        may_be_infinite=True,
    )
    sensor_timeout: float = parameter(
        0.05, 'Time without a wrench after which the robot is stopped', 's', (0.001, 1.0)
    )
    frozen_time: float = parameter(
        0.1,
        'Time with exactly the same wrench after which the robot is stopped; inf: never, for a '
        'simulated sensor without noise',
        's',
        (0.01, 10.0),
        may_be_infinite=True,
    )
    delay: float = parameter(
        0.01,
        'Time from a force to the motion by it: of the sensor, the driver and the arm',
        's',
        (0.0, 1.0),
    )
    environment_stiffness: float = parameter(
        1e4,
        'Stiffness of what the tool may touch; a damping with which that contact is unstable for '
        'the delay is a warning in the log, with the damping that would do',
        'N/m',
        (0.0, 1e9),
    )


@dataclass(frozen=True)
class ServoParameters(TargetParameters):
    """Parameters of cartesian_servo_node."""

    frame: str = parameter('', 'Frame that is moved. Empty: the end of the longest chain')
    follow: str = parameter(
        'pose',
        'Part of a target that is followed; position for an arm that cannot orient its tool freely',
        choices=('pose', 'position', 'orientation'),
    )
    command_type: str = parameter(
        'trajectory',
        'Type and topic of the commands. trajectory: ~/joint_trajectory, for a '
        'joint_trajectory_controller; position or velocity: '
        '~/joint_commands, for a forward_command_controller',
        choices=('trajectory', 'position', 'velocity'),
    )
    command_joints: tuple[str, ...] = parameter(
        (),
        'Commanded joints, in the order of the controller; others do not move. Empty, only with '
        'trajectories: all joints that move the frame',
    )
    command_timeout: float = parameter(
        0.25, 'Age at which a target that is not repeated ends', 's', (0.01, 10.0)
    )
    joint_state_timeout: float = parameter(
        0.1,
        'Time without joint states, or one of a commanded joint, after which the robot is stopped; '
        'the node deactivates itself 0.2 s later if it was moving',
        's',
        (0.01, 10.0),
    )
    following_tolerance: float = parameter(
        0.2,
        'Distance of a joint from its commanded position at which the robot is stopped, until it '
        'catches up or ~/pause is called with false; inf: never',
        'rad or m',
        (1e-4, 10.0),
        may_be_infinite=True,
    )
    gain: float = parameter(5.0, 'Decay rate of the error of a pose', '1/s', (0.01, 100.0))
    joint_margin: float = parameter(
        0.05, 'Distance that joints keep from their position limits', 'rad or m', (0.0, 10.0)
    )
    avoid_collisions: bool = parameter(
        False,
        'Keep links apart from each other and from the obstacles of ~/obstacles; needs the Python '
        'package coal and collision shapes in a URDF',
    )
    collision_margin: float = parameter(0.02, COLLISION_MARGIN, 'm', (0.0, 1.0))
    speed: SpeedParameters = field(default_factory=SpeedParameters)
    singularity: SingularityParameters = field(default_factory=SingularityParameters)
    admittance: AdmittanceParameters = field(default_factory=AdmittanceParameters)
