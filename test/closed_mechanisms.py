# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Three robots with closed loops, whose configurations are known in closed form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynamics_ros import Robot

STEP = 1e-4


@dataclass(frozen=True)
class Mechanism:
    """A robot with loops.

    Attributes:
        source: URDF or MJCF.
        loops, passive: parameters of these names; empty for MJCF, which has them.
        tool: a frame.
        coordinates: configuration by joint name, of coordinates u, as many as there are motors.
        u, rate, acceleration: a motion of the coordinates.
    """

    source: str
    loops: tuple[str, ...]
    passive: tuple[str, ...]
    tool: str
    coordinates: Callable[[np.ndarray], dict[str, float]]
    u: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray

    def robot(self) -> Robot:
        return Robot(self.source, loops=self.loops, passive_joints=self.passive)

    def q(self, robot: Robot, u: np.ndarray) -> np.ndarray:
        values = self.coordinates(np.asarray(u, dtype=float))
        return np.array([values[name] for name in robot.joint_names])

    def slope(self, robot: Robot, u: np.ndarray) -> np.ndarray:
        """dq/du (nv, m) by central differences of the closed form."""
        ends = [
            [self.q(robot, u + sign * STEP * e) for sign in (1.0, -1.0)] for e in np.eye(len(u))
        ]
        return np.array([(after - before) / (2.0 * STEP) for after, before in ends]).T

    def motion(self, robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a of the motion at its time 0, by differences of the closed form."""

        def at(t: float) -> np.ndarray:
            return self.q(robot, self.u + t * self.rate + 0.5 * t * t * self.acceleration)

        h = 1e-3
        now, after, before = at(0.0), at(h), at(-h)
        return now, (after - before) / (2.0 * h), (after - 2.0 * now + before) / h**2

    def of_motors(self, robot: Robot, tau: np.ndarray) -> np.ndarray:
        """Torques (nv) of the motors that do the same work as torques (nv) of the open tree."""
        slope = self.slope(robot, self.u)
        driven = [name not in robot.model.passive_joints for name in robot.joint_names]
        torques = np.zeros(robot.nv)
        torques[driven] = np.linalg.solve(slope[driven].T, slope.T @ tau)
        return torques


def link(name: str, mass: float = 0.0, center: str = '0 0 0') -> str:
    moment = 0.01 * mass
    inertial = (
        f'<inertial><origin xyz="{center}"/><mass value="{mass}"/><inertia ixx="{0.5 * moment}" '
        f'iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    return f'<link name="{name}">{inertial if mass else ""}</link>'


def joint(
    name: str, parent: str, child: str, at: str, axis: str = '', kind: str = 'revolute', rpy='0 0 0'
) -> str:
    kind = kind if axis else 'fixed'
    of_motion = '<limit lower="-3" upper="3" velocity="5" effort="100"/>' if axis else ''
    of_motion += f'<axis xyz="{axis}"/>' if axis else ''
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}" rpy="{rpy}"/>{of_motion}</joint>'
    )


def _urdf(name: str, *parts: str) -> str:
    return f'<robot name="{name}">{"".join(parts)}</robot>'


# --- a gripper: two parallelograms, of which one motor drives both cranks -------------------------


def _finger(side: str, y: float) -> str:
    def bar(name: str, at: str, inside: str = '', end: str = '.08 0 0') -> str:
        return (
            f'<body name="{side}_{name}" pos="{at}"><joint name="{side}_{name}" axis="0 0 1"/>'
            f'<geom type="capsule" size=".005" fromto="0 0 0 {end}"/>{inside}</body>'
        )

    tip = bar('tip', '.08 0 0', f'<site name="{side}_pad" pos=".05 0 0"/>', f'0 {0.03} 0')
    return bar('crank', f'0 {y} 0', tip) + bar('rocker', f'0 {y + 0.03} 0')


GRIPPER = Mechanism(
    f"""<mujoco model="gripper"><option gravity="-9.81 0 0"/><worldbody>
    {_finger('left', 0.02)}{_finger('right', -0.05)}</worldbody><equality>
    <connect name="left_pin" body1="left_tip" body2="left_rocker" anchor="0 .03 0"/>
    <connect name="right_pin" body1="right_tip" body2="right_rocker" anchor="0 .03 0"/>
    <joint joint1="right_crank" joint2="left_crank" polycoef="0 -1 0 0 0"/>
    </equality><actuator><motor joint="right_crank"/></actuator></mujoco>""",
    (),
    (),
    'left_pad',
    lambda u: {
        **{f'left_{x}': s * u[0] for x, s in (('crank', 1), ('tip', -1), ('rocker', 1))},
        **{f'right_{x}': -s * u[0] for x, s in (('tip', -1), ('rocker', 1))},
    },
    np.array([0.4]),
    np.array([2.0]),
    np.array([-3.0]),
)

# --- a palletizer: a parallelogram moves the forearm, two more keep the hand level ----------------

UPPER, FORE, CRANK, LEVEL = 0.5, 0.6, 0.15, 0.1

PALLETIZER = Mechanism(
    _urdf(
        'palletizer',
        link('base'),
        link('carriage', 5.0, '0 0 -.1'),
        link('upper', 3.0, '.25 0 0'),
        link('forearm', 2.0, '.2 0 0'),
        link('hand', 1.5, '.05 0 -.05'),
        link('crank', 0.7, '-.07 0 0'),
        link('rod', 0.4, '.25 0 0'),
        link('triangle', 0.3, '0 0 .05'),
        link('level', 0.4, '.25 0 0'),
        link('level2', 0.5, '.3 0 0'),
        *(link(x) for x in ('rod_end', 'rear', 'level_end', 'corner', 'level2_end', 'hand_pin')),
        joint('yaw', 'base', 'carriage', '0 0 .4', '0 0 1'),
        joint('shoulder', 'carriage', 'upper', '0 0 0', '0 1 0'),
        joint('elbow', 'upper', 'forearm', f'{UPPER} 0 0', '0 1 0'),
        joint('wrist', 'forearm', 'hand', f'{FORE} 0 0', '0 1 0'),
        joint('drive', 'carriage', 'crank', '0 .1 0', '0 1 0'),
        joint('rod_joint', 'crank', 'rod', f'{-CRANK} 0 0', '0 1 0'),
        joint('triangle_joint', 'upper', 'triangle', f'{UPPER} 0 0', '0 1 0'),
        joint('level_joint', 'carriage', 'level', f'0 0 {LEVEL}', '0 1 0'),
        joint('level2_joint', 'triangle', 'level2', f'0 0 {LEVEL}', '0 1 0'),
        joint('f1', 'rod', 'rod_end', f'{UPPER} 0 0'),
        joint('f2', 'forearm', 'rear', f'{-CRANK} .1 0'),
        joint('f3', 'level', 'level_end', f'{UPPER} 0 0'),
        joint('f4', 'triangle', 'corner', f'0 0 {LEVEL}'),
        joint('f5', 'level2', 'level2_end', f'{FORE} 0 0'),
        joint('f6', 'hand', 'hand_pin', f'0 0 {LEVEL}'),
    ),
    ('rod_end rear', 'level_end corner position', 'level2_end hand_pin'),
    ('elbow', 'wrist', 'rod_joint', 'triangle_joint', 'level_joint', 'level2_joint'),
    'hand',
    lambda u: {
        'yaw': u[0],
        'shoulder': u[1],
        'elbow': u[2] - u[1],
        'wrist': -u[2],
        'drive': u[2],
        'rod_joint': u[1] - u[2],
        'triangle_joint': -u[1],
        'level_joint': u[1],
        'level2_joint': u[2],
    },
    np.array([0.3, -1.1, 0.4]),
    np.array([0.5, 0.8, -0.6]),
    np.array([1.0, -2.0, 1.5]),
)

# --- a delta: three rods hold a platform that does not turn ---------------------------------------

RADIUS, ARM, ROD, PLATFORM = 0.2, 0.25, 0.55, 0.06
AROUND = np.deg2rad([0.0, 120.0, 240.0])


def _delta(p: np.ndarray) -> dict[str, float]:
    """Of platform positions p (3): the arms by the intersection of two circles in their planes."""
    values = dict(zip(('slide_x', 'slide_y', 'slide_z'), map(float, p), strict=True))
    for i, angle in enumerate(AROUND):
        c, s = np.cos(angle), np.sin(angle)
        x, y = c * p[0] + s * p[1] + PLATFORM - RADIUS, -s * p[0] + c * p[1]
        z = p[2]
        reach = np.hypot(x, z)
        inner = np.arccos((ARM**2 + reach**2 - (ROD**2 - y**2)) / (2.0 * ARM * reach))
        arm = np.arctan2(-z, x) - inner  # the elbow is outside
        dx, dz = x - ARM * np.cos(arm), z + ARM * np.sin(arm)
        pitch = np.arctan2(-dz, dx)
        values |= {f'arm_{i}': arm, f'pitch_{i}': pitch - arm, f'yaw_{i}': np.arcsin(y / ROD)}
    return values


DELTA = Mechanism(
    _urdf(
        'delta',
        link('base'),
        *(link(f'slider_{x}') for x in 'xy'),
        link('platform', 0.8, '0 0 -.02'),
        joint('slide_x', 'base', 'slider_x', '0 0 0', '1 0 0', 'prismatic'),
        joint('slide_y', 'slider_x', 'slider_y', '0 0 0', '0 1 0', 'prismatic'),
        joint('slide_z', 'slider_y', 'platform', '0 0 0', '0 0 1', 'prismatic'),
        *(
            part
            for i, angle in enumerate(AROUND)
            for part in (
                link(f'upper_{i}', 0.5, '.1 0 0'),
                link(f'elbow_{i}'),
                link(f'rod_{i}', 0.2, '.27 0 0'),
                link(f'end_{i}'),
                link(f'pin_{i}'),
                joint(
                    f'arm_{i}',
                    'base',
                    f'upper_{i}',
                    f'{RADIUS * np.cos(angle)} {RADIUS * np.sin(angle)} 0',
                    '0 1 0',
                    rpy=f'0 0 {angle}',
                ),
                joint(f'pitch_{i}', f'upper_{i}', f'elbow_{i}', f'{ARM} 0 0', '0 1 0'),
                joint(f'yaw_{i}', f'elbow_{i}', f'rod_{i}', '0 0 0', '0 0 1'),
                joint(f'g{i}', f'rod_{i}', f'end_{i}', f'{ROD} 0 0'),
                joint(
                    f'h{i}',
                    'platform',
                    f'pin_{i}',
                    f'{PLATFORM * np.cos(angle)} {PLATFORM * np.sin(angle)} 0',
                ),
            )
        ),
    ),
    ('end_0 pin_0', 'end_1 pin_1', 'end_2 pin_2'),
    (
        *('slide_x', 'slide_y', 'slide_z'),
        *(f'{x}_{i}' for i in range(3) for x in ('pitch', 'yaw')),
    ),
    'platform',
    _delta,
    np.array([0.05, -0.08, -0.45]),
    np.array([0.3, 0.2, -0.1]),
    np.array([1.0, -2.0, 0.5]),
)

MECHANISMS = {'gripper': GRIPPER, 'palletizer': PALLETIZER, 'delta': DELTA}


def one_way(mechanism: Mechanism) -> Mechanism:
    """The same in URDF, with limits of passive joints that leave one way to assemble it."""
    robot, source = mechanism.robot(), mechanism.source
    q = mechanism.q(robot, mechanism.u)
    for name in mechanism.passive:
        place = q[robot.joint_q_indices[name]]
        joint = f'(<joint name="{name}".*?<limit )lower="-3" upper="3"'
        source = re.sub(joint, rf'\1lower="{place - 1}" upper="{place + 1}"', source, count=1)
    return replace(mechanism, source=source)
