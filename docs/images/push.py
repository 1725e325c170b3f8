# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws push.png: the simulated arm while it is pushed, and the force that is estimated.

Run by scripts/images; needs matplotlib. The shapes are those of the URDF, the
truth that of the simulator, the estimate that of the estimators behind contact_node.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl

mpl.use('Agg')

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from dynamics_ros import Robot
from dynamics_ros.estimation import EffortModel, MomentumObserver, WrenchEstimator
from dynamics_ros.simulation import Actuators, SimulatedRobot, comfortable_posture, slow_motion

HERE = Path(__file__).parent
URDF = HERE.parents[1] / 'urdf' / 'seven_joint_arm.urdf'
TOOL = 'tool0'
FORCE = np.array([14.0, 9.0, -11.0])
BEGIN, DURATION, END = 1.0, 2.0, 4.0
SKY = (0.965, 0.972, 0.98)
TRUE, ESTIMATED = '#1b998b', '#e4572e'
WIDTH, HEIGHT, METRES = 900, 900, 1.12
CENTER = np.array([0.04, -0.27, 0.46])


def simulate(robot):
    """Times, estimated forces, and the configuration in the middle of the push."""
    posture = comfortable_posture(robot, TOOL)
    simulated = SimulatedRobot(
        robot, Actuators.for_robot(robot, posture, TOOL), slow_motion(robot, posture)
    )
    effort_model = EffortModel.from_robot(robot)
    observer = MomentumObserver(robot, effort_sampling='interval')
    estimator = WrenchEstimator(robot, [TOOL])
    times, forces, middle = [], [], posture
    for step in range(round(END * 1000)):
        if step == round(BEGIN * 1000):
            simulated.push(TOOL, [*FORCE, 0, 0, 0], DURATION)
        simulated.step()
        sample = simulated.sample()
        torque = effort_model.joint_torque(sample.effort, sample.v)
        external = observer.update(sample.time, sample.q, sample.v, torque)
        (estimate,) = estimator.estimate(sample.q, external)
        times.append(sample.time * 1e-9)
        forces.append(estimate.wrench[:3])
        if step == round((BEGIN + DURATION / 2) * 1000):
            middle = sample.q.copy()
    return np.array(times), np.array(forces), middle


def surfaces(robot, q):
    """Polygons (k, 3) of the visual shapes in the root frame, with their colours."""
    root = ElementTree.parse(URDF).getroot()
    colors = {
        material.get('name'): np.array(material.find('color').get('rgba').split(), float)[:3]
        for material in root.findall('material')
    }
    poses = dict(zip(robot.frame_names, robot.all_frames(q), strict=True))
    for link in root.findall('link'):
        for visual in link.findall('visual'):
            pose = poses[link.get('name')] @ origin(visual.find('origin'))
            color = colors[visual.find('material').get('name')]
            for polygon in shape(visual.find('geometry')[0]):
                yield polygon @ pose[:3, :3].T + pose[:3, 3], color


def origin(element):
    """The pose (4, 4) of an <origin>."""
    pose = np.eye(4)
    if element is not None:
        pose[:3, 3] = np.array(element.get('xyz', '0 0 0').split(), float)
        rpy = np.array(element.get('rpy', '0 0 0').split(), float)
        pose[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return pose


def shape(element):
    """Polygons of a box, cylinder or sphere."""
    if element.tag == 'box':
        half = np.array(element.get('size').split(), float) / 2.0
        for axis, side in ((axis, side) for axis in range(3) for side in (-1, 1)):
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, (axis + 1) % 3] = [-1, 1, 1, -1]
            corners[:, (axis + 2) % 3] = [-1, -1, 1, 1]
            yield corners[::side] * half
        return
    radius = float(element.get('radius'))
    turn = np.linspace(0.0, 2.0 * np.pi, 49)
    if element.tag == 'sphere':
        rise = np.linspace(0.0, np.pi, 17)
        rings = [(radius * np.sin(t), radius * np.cos(t)) for t in rise]
    else:
        half = float(element.get('length')) / 2.0
        sides = [(radius, z) for z in np.linspace(half, -half, 9)]
        rings = [(0.0, half), *sides, (0.0, -half)]
    for (r0, z0), (r1, z1) in pairwise(rings):
        for a, b in pairwise(turn):
            quad = [(r0, a, z0), (r1, a, z1), (r1, b, z1), (r0, b, z0)]
            yield np.array([[r * np.cos(t), r * np.sin(t), z] for r, t, z in quad])


def camera():
    """Rows right, up and towards the viewer."""
    azimuth, elevation = np.radians(38.0), np.radians(16.0)
    towards = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    right = np.cross([0.0, 0.0, 1.0], towards)
    right /= np.linalg.norm(right)
    return np.array([right, np.cross(towards, right), towards])


def pixels(points):
    """Column, row and depth of points (k, 3)."""
    seen = (points - CENTER) @ camera().T
    scale = WIDTH / METRES
    return WIDTH / 2 + seen[:, 0] * scale, HEIGHT / 2 - seen[:, 1] * scale, seen[:, 2]


def render(polygons):
    """An image with a depth buffer: the shapes interpenetrate, a painter's order would fail."""
    image = np.ones((HEIGHT, WIDTH, 3)) * SKY
    depth = np.full((HEIGHT, WIDTH), -np.inf)
    light = np.array([0.8, 0.1, 0.75]) / np.linalg.norm([0.8, 0.1, 0.75])
    for polygon, color in polygons:
        normal = np.cross(polygon[2] - polygon[0], polygon[3] - polygon[1])
        normal /= np.linalg.norm(normal) + 1e-15
        shade = np.clip(color * (0.5 + 0.5 * abs(normal @ light)), 0.0, 1.0)
        x, y, z = pixels(polygon)
        for triangle in ([0, 1, 2], [0, 2, 3]):
            fill(image, depth, x[triangle], y[triangle], z[triangle], shade)
    return image


def fill(image, depth, x, y, z, color):
    """One triangle, by barycentric coordinates of the pixels of its box."""
    left, right = int(max(0, x.min())), int(min(WIDTH - 1, x.max() + 1))
    top, bottom = int(max(0, y.min())), int(min(HEIGHT - 1, y.max() + 1))
    area = (y[1] - y[2]) * (x[0] - x[2]) + (x[2] - x[1]) * (y[0] - y[2])
    if right < left or bottom < top or abs(area) < 1e-9:
        return
    columns, rows = np.meshgrid(np.arange(left, right + 1), np.arange(top, bottom + 1))
    a = ((y[1] - y[2]) * (columns - x[2]) + (x[2] - x[1]) * (rows - y[2])) / area
    b = ((y[2] - y[0]) * (columns - x[2]) + (x[0] - x[2]) * (rows - y[2])) / area
    here = a * z[0] + b * z[1] + (1.0 - a - b) * z[2]
    inside = (a >= -1e-6) & (b >= -1e-6) & (a + b <= 1.0 + 1e-6) & (here > depth[rows, columns])
    depth[rows[inside], columns[inside]] = here[inside]
    image[rows[inside], columns[inside]] = color


def draw(robot, times, forces, q):
    """The picture."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.0, 4.6), width_ratios=(1.0, 1.35), facecolor='white'
    )
    left.imshow(render(surfaces(robot, q)))
    pose = robot.forward_kinematics(q, TOOL)
    for axis, color in enumerate(('#d62828', '#2a9d3f', '#2457c5')):
        ends = pixels(np.array([pose[:3, 3], pose[:3, 3] + 0.12 * pose[:3, axis]]))
        left.plot(ends[0], ends[1], color=color, linewidth=2.2, solid_capstyle='round')
    estimate = forces[np.searchsorted(times, BEGIN + DURATION / 2)]
    for force, color, width in ((FORCE, TRUE, 6.0), (estimate, ESTIMATED, 2.0)):
        ends = pixels(np.array([pose[:3, 3] - 0.016 * force, pose[:3, 3]]))
        left.annotate(
            '',
            xy=(ends[0][1], ends[1][1]),
            xytext=(ends[0][0], ends[1][0]),
            arrowprops={'arrowstyle': '-|>', 'color': color, 'linewidth': width},
        )
    left.set_axis_off()

    true = np.where(((times > BEGIN) & (times <= BEGIN + DURATION))[:, None], FORCE, np.zeros(3))
    for component, name in enumerate('xyz'):
        right.plot(times, true[:, component], color=TRUE, linewidth=4.0, alpha=0.35)
        right.plot(times, forces[:, component], color=ESTIMATED, linewidth=1.4)
        right.annotate(
            f'$f_{name}$',
            (BEGIN + DURATION / 2, FORCE[component]),
            xytext=(0, 7),
            textcoords='offset points',
            ha='center',
        )
    right.plot([], [], color=TRUE, linewidth=4.0, alpha=0.35, label='true push')
    right.plot([], [], color=ESTIMATED, linewidth=1.4, label='estimated from joint torques')
    right.set_xlabel('time [s]')
    right.set_ylabel('force on the tool [N]')
    right.legend(frameon=False, loc=(0.28, 0.22))
    right.spines[['top', 'right']].set_visible(False)
    right.margins(x=0.01)
    figure.tight_layout()
    figure.savefig(HERE / 'push.png', dpi=110)


if __name__ == '__main__':
    arm = Robot.from_urdf(URDF)
    draw(arm, *simulate(arm))
