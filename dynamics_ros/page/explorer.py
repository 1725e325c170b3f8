# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A displayed robot with its controls: joint sliders, frames, joint torques.

Independent of ROS. Call all methods from one thread, the one that calls ``Scene.answer``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynamics_ros.model import Model
from dynamics_ros.model.collision_geometry import Visual
from dynamics_ros.multibody.end_effector import pose_numbers
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bars import Bar, bars
from .bones import skeleton
from .scene import Array, Scene

TEXT_PERIOD = 0.2
"""Time between two updates of texts, bars and sliders [s]; links move with every picture."""

TEXT_STYLE = 'padding:0.3em 0.9em 0.8em;font-size:0.85em;line-height:1.45;overflow-wrap:anywhere'

MASS_COLOR, MASS_DIAMETER = (1.0, 0.8, 0.1), 0.03
"""Look of the centre of mass, with a diameter [m]."""


class Explorer:
    """The displayed robot with its controls; there is no robot until ``show``.

    Attributes:
        shown: whether there is a robot; ``robot`` and ``q`` exist from then on.
        robot: the robot.
        q: its configuration (nq), initially with all joints at 0 or as near as limits allow.
        frame: name of the selected frame; '' without a robot.
        gravity: displayed gravity torque of each joint [Nm, N if prismatic]; empty: those of the
            description.
        external: external torques, with their contact thresholds.
        tabs: tab group of the page, from the start; other classes may add their own tabs.
    """

    robot: RigidBodySystem
    q: Array
    gravity: Mapping[str, float]
    external: Mapping[str, Bar]

    def __init__(self, scene: Scene) -> None:
        """Create the controls that need no robot."""
        self._scene, self.shown, self.frame = scene, False, ''
        gui = scene.gui
        self._text = gui.add_html('')
        self.tabs = gui.add_tab_group()
        with self.tabs.add_tab('Robot') as self._robot_tab:
            look = gui.add_button('Frame the robot')
            dark = gui.add_checkbox('dark', initial_value=False)
        self._joints_tab = self.tabs.add_tab('Joints')
        look.on_click(lambda _: scene.later(self._look_at))
        dark.on_update(lambda _: scene.later(lambda: scene.set_dark(dark.value)))
        self._robot_controls: list[Any] = []
        self._sliders: dict[str, Any] = {}
        self._live = False
        self._shapes: Sequence[Visual] = ()

    def say(self, html: str) -> None:
        """Show lines of HTML above all controls."""
        # Only changes, because they close what the reader has opened.
        content = f'<div style="{TEXT_STYLE}">{html}</div>'
        if self._text.content != content:
            self._text.content = content

    def show(self, robot: RigidBodySystem, visuals: Sequence[Visual], tool: str) -> None:
        """Display another robot in place of the current one.

        Args:
            robot: the robot.
            visuals: its visual shapes; bodies without shapes are drawn as bones.
            tool: name of the frame that is selected at first.
        """
        for handle in self._robot_controls:
            handle.remove()
        self.gravity, self.external = {}, {}
        self._limits = {joint.name: float(joint.limits.effort) for joint in robot.model.actuated}
        drawn = [one for one in visuals if one.link in robot.frame_names]
        self._shapes = [*drawn, *skeleton(robot.model, {one.link for one in drawn})]
        self.robot, self.q, self.shown = robot, robot.nominal(), True
        self._scene.set_title(robot.name)
        self._scene.show_robot(robot.frame_names, self._shapes, self._choose_frame)
        self._ranges = slider_ranges(robot.model)
        self._set_positions({joint: self._inside(joint, 0.0) for joint in self._ranges})
        with self._joints_tab:
            self._sliders = {joint: self._slider(joint) for joint in self._ranges}
        gui, later = self._scene.gui, self._scene.later
        with self._robot_tab:
            chosen = self._chosen = gui.add_dropdown('frame', robot.frame_names, initial_value=tool)
            self._pose_text = gui.add_markdown('')
            self._bars = gui.add_html('')
        chosen.on_update(lambda _: later(lambda: self._choose_frame(chosen.value)))
        self._robot_controls = [chosen, self._pose_text, self._bars, *self._sliders.values()]
        self._choose_frame(tool)
        self._look_at()

    def follow(self, positions: Mapping[str, float]) -> None:
        """Show the robot at joint positions [rad or m] by name, and disable the sliders."""
        if self.shown:
            self._set_positions(positions)
            if not self._live:
                self._set_live(live=True)
                self._look_at()

    def pose(self, q: Array) -> None:
        """Show the robot and its sliders in a configuration (nq), if no joint states arrive."""
        if not self._live:
            self.q[:] = q
            self._moved = True
            self._move_sliders()
            self._next_update = 0.0

    def release(self) -> None:
        """Enable the sliders, because joint states no longer arrive."""
        if self._live:
            self._set_live(live=False)

    def update(self) -> None:
        """Handle the input of the page, and update texts, bars and sliders."""
        self._scene.answer()
        if not self.shown:
            return
        robot, q = self.robot, self.q
        if self._moved:
            self._moved = False
            for frame, (x, y, z, qx, qy, qz, qw) in zip(
                robot.frame_names, pose_numbers(robot.all_frames(q)), strict=True
            ):
                shown = self._scene.frames[frame]
                shown.position, shown.wxyz = (x, y, z), (qw, qx, qy, qz)
            if robot.total_mass > 0.0:
                center = robot.center_of_mass(q)
                self._scene.draw_sphere('center of mass', '', center, MASS_DIAMETER, MASS_COLOR)
        now = time.monotonic()
        if now < self._next_update:
            return
        self._next_update = now + TEXT_PERIOD
        self._pose_text.content = self._pose()
        indices = robot.joint_v_indices
        gravity = {name: x for name, x in self.gravity.items() if name in indices}
        if not gravity:
            torques = robot.gravity(q)
            gravity = {name: float(torques[i]) for name, i in indices.items()}
        limited = {name: Bar(x, self._limits[name]) for name, x in gravity.items()}
        shown = bars(list(indices), limited, self.external)
        if self._bars.content != shown:
            self._bars.content = shown
        if self._live:
            self._move_sliders()

    def frame_pose(self, frame: str) -> Array | None:
        """Pose (4, 4) of a frame in the root frame ('' too); None if there is no such frame."""
        if frame in ('', self.robot.root_frame):
            return np.eye(4)
        if frame not in self.robot.frame_names:
            return None
        return self.robot.forward_kinematics(self.q, frame)

    def _look_at(self) -> None:
        """Move the camera so that it shows the whole robot."""
        if not self.shown:
            return
        poses = dict(zip(self.robot.frame_names, self.robot.all_frames(self.q), strict=True))
        corners = [X[None, :3, 3] for X in poses.values()]
        for visual in self._shapes:
            X = poses[visual.link]
            corners.append(visual.triangles.reshape(-1, 3) @ X[:3, :3].T + X[:3, 3])
        cloud = np.concatenate(corners)
        lowest = cloud.min(axis=0)
        # Without odometry, a floating base is at the origin, and its legs are below.
        floating = self.robot.model.root_joint == 'floating'
        ground = min(0.0, float(lowest[2])) if floating else 0.0
        self._scene.look_at(lowest, cloud.max(axis=0), ground)

    # --- frames and joints ------------------------------------------------------------------------

    def _choose_frame(self, frame: str) -> None:
        if frame not in self.robot.frame_names:  # of the robot before
            return
        self.frame = frame
        if self._chosen.value != frame:
            self._chosen.value = frame
        for name, shown in self._scene.frames.items():
            shown.show_axes = name == frame
        self._next_update = 0.0

    def _pose(self) -> str:
        X = self.robot.forward_kinematics(self.q, self.frame)
        # Adding zero makes a negative zero positive.
        place, turned = (
            ', '.join(f'{value + 0.0:.4f}' for value in np.round(values, 4))
            for values in (X[:3, 3], pose_numbers(X)[3:])
        )
        return f'in `{self.robot.root_frame}`: x y z **{place}** m\n\nquaternion x y z w {turned}'

    def _set_positions(self, positions: Mapping[str, float]) -> None:
        """Set joint positions [rad or m] by name; others are ignored."""
        for name, position in positions.items():
            index = self.robot.joint_q_indices.get(name)
            if index is not None:
                self.q[index] = position
        self._moved = True

    def _slider(self, joint: str) -> Any:
        lower, upper = self._ranges[joint]
        slider = self._scene.gui.add_slider(
            joint, min=lower, max=upper, step=(upper - lower) / 1000.0,
            initial_value=self._inside(joint, 0.0), disabled=self._live,
        )  # fmt: skip

        def move() -> None:
            if not self._live:
                self._set_positions({joint: float(slider.value)})

        # Input of a person, not an update by this class.
        slider.on_update(lambda event: self._scene.later(move) if event.client else None)
        return slider

    def _inside(self, joint: str, position: float) -> float:
        return float(np.clip(position, *self._ranges[joint]))

    def _move_sliders(self) -> None:
        for joint, slider in self._sliders.items():
            slider.value = self._inside(joint, float(self.q[self.robot.joint_q_indices[joint]]))

    def _set_live(self, *, live: bool) -> None:
        self._live = live
        for slider in self._sliders.values():
            slider.disabled = live


def slider_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """Ranges of all joints with one coordinate; +-pi rad or +-1 m for joints without limits."""
    found = {}
    for joint in model.actuated:
        if joint.kind.nq == 1:
            free = 1.0 if joint.kind.slides[0] else math.pi
            lower, upper = joint.limits.lower, joint.limits.upper
            lower = lower if math.isfinite(lower) else min(-free, upper - free)
            upper = upper if math.isfinite(upper) else max(free, lower + free)
            found[joint.name] = lower, upper
    return found
