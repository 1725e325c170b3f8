# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controls of the page for a robot: joint sliders, frames, a draggable IK target, joint torques.

Independent of ROS. Call all methods from one thread, the one that calls ``Scene.answer``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.inverse_kinematics import InverseKinematicsResult, solve, solve_all
from dynamics_ros.model.visual_geometry import Visual
from dynamics_ros.multibody.end_effector import pose_numbers
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bars import Bar, bars
from .posed import PosedRobot, Slider, skeleton
from .scene import Array, Pose, Scene, sphere

TEXT_PERIOD = 0.2
"""Time between two updates of texts, bars and sliders [s]; links move with every picture."""

SEARCH_TIME = 0.1
"""Timeout of the search for the solutions of a target [s]; pictures wait for it."""

TEXT_STYLE = 'padding:0.3em 0.9em 0.8em;font-size:0.85em;line-height:1.45;overflow-wrap:anywhere'

MAX_SOLUTIONS = 8

MASS_COLOR, MASS_DIAMETER = (1.0, 0.8, 0.1), 0.03
"""Look of the centre of mass, with a diameter [m]."""


class Explorer:
    """The displayed robot with its controls; there may be no robot yet.

    Attributes:
        posed: the displayed robot, or None.
        tabs: tab group of the page; other classes may add their own tabs.
        frame: name of the selected frame; '' without a robot.
    """

    def __init__(self, scene: Scene) -> None:
        """Create the controls that need no robot."""
        self._scene = scene
        self.posed: PosedRobot | None = None
        gui = scene.gui
        self._text = gui.add_html('')
        self.tabs = gui.add_tab_group()
        with self.tabs.add_tab('Robot') as self._robot_tab:
            look = gui.add_button('Frame the robot')
            dark = gui.add_checkbox('dark', initial_value=False)
        self._joints_tab = self.tabs.add_tab('Joints')
        self._reach_tab = self.tabs.add_tab('Reach')
        look.on_click(lambda _: scene.later(self._look_at))
        dark.on_update(lambda _: scene.later(lambda: scene.set_dark(dark.value)))
        self._robot_controls: list[Any] = []
        self._ranges: Sequence[Slider] = ()
        self._sliders: dict[str, Any] = {}
        self._live = self._pose_changed = False
        self.frame = ''
        self._pose_text: Any = None
        self._bars: Any = None
        self._gravity: dict[str, Bar] | None = None
        self._external: dict[str, Bar] = {}
        self._target: Array | None = None
        self._reach_text: Any = None
        self._solutions: Sequence[InverseKinematicsResult] = ()
        self._next_update = 0.0

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
        self._scene.show_target(None, 0.0, self._solve_for)
        self._target, self._solutions = None, ()
        self._gravity, self._external = None, {}
        drawn = [one for one in visuals if one.link in robot.frame_names]
        shapes = [*drawn, *skeleton(robot.model, {one.link for one in drawn})]
        self._scene.set_title(robot.name)
        self.posed = PosedRobot(self._scene, robot, shapes, self._choose_frame)
        self._robot_controls = [*self._frame_controls(robot, tool), *self._reach_controls()]
        self._ranges = self.posed.sliders()
        with self._joints_tab:
            self._sliders = {one.joint: self._slider(one) for one in self._ranges}
        self._robot_controls += self._sliders.values()
        self._choose_frame(tool)
        self.posed.move({one.joint: one.inside(0.0) for one in self._ranges})
        self._pose_changed = True
        self.posed.look_at()
        self._next_update = 0.0

    def follow(self, positions: Mapping[str, float]) -> None:
        """Show the robot at joint positions [rad or m] by name, and disable the sliders."""
        if self.posed is not None:
            self.posed.move(positions)
            self._pose_changed = True
            if not self._live:
                self._set_live(live=True)
                self.posed.look_at()

    def pose(self, q: Array) -> None:
        """Show the robot and its sliders in a configuration (nq), if no joint states arrive."""
        if self.posed is not None and not self._live:
            self.posed.q[:] = q
            self._pose_changed = True
            self._move_sliders(self.posed)
            self._next_update = 0.0

    def release(self) -> None:
        """Enable the sliders, because joint states no longer arrive."""
        if self._live:
            self._set_live(live=False)

    def _set_live(self, *, live: bool) -> None:
        self._live = live
        for slider in self._sliders.values():
            slider.disabled = live

    def set_torques(
        self, gravity: Mapping[str, float] | None, external: Mapping[str, Bar] | None
    ) -> None:
        """Set the displayed joint torques; None keeps the previous ones.

        Args:
            gravity: gravity torque of each joint [Nm, N if prismatic]; until the first call with
                torques, those of the description are shown.
            external: external torques, with their contact thresholds.
        """
        if gravity is not None and self.posed is not None:
            self._gravity = self._with_effort_limits(self.posed.robot, gravity)
        if external is not None:
            self._external = dict(external)

    def update(self) -> None:
        """Handle the input of the page, and update texts, bars and sliders."""
        self._scene.answer()
        if self.posed is not None and self._pose_changed:
            self._pose_changed = False
            self.posed.place()
            robot, q = self.posed.robot, self.posed.q
            if robot.total_mass > 0.0:
                look = sphere(robot.center_of_mass(q), MASS_DIAMETER, MASS_COLOR)
                self._scene.draw('center of mass', '', 'icosphere', **look)
            else:
                self._scene.remove('center of mass')
        now = time.monotonic()
        if self.posed is None or now < self._next_update:
            return
        self._next_update = now + TEXT_PERIOD
        posed = self.posed
        self._pose_text.content = self._pose(posed)
        indices, gravity = posed.robot.joint_v_indices, self._gravity
        if not gravity:
            torques = posed.robot.gravity(posed.q)
            described = {name: torques[i] for name, i in indices.items()}
            gravity = self._with_effort_limits(posed.robot, described)
        shown = bars(list(indices), gravity, self._external)
        if self._bars.content != shown:
            self._bars.content = shown
        if self._live:
            self._move_sliders(posed)

    # --- frames and joints ------------------------------------------------------------------------

    def _frame_controls(self, robot: RigidBodySystem, tool: str) -> list[Any]:
        gui = self._scene.gui
        with self._robot_tab:
            chosen = gui.add_dropdown('frame', robot.frame_names, initial_value=tool)
            self._pose_text = gui.add_markdown('')
            self._bars = gui.add_html('')
        chosen.on_update(lambda _: self._scene.later(lambda: self._choose_frame(chosen.value)))
        self._chosen = chosen
        return [chosen, self._pose_text, self._bars]

    def _slider(self, of: Slider) -> Any:
        slider = self._scene.gui.add_slider(
            of.joint, min=of.lower, max=of.upper, step=(of.upper - of.lower) / 1000.0,
            initial_value=of.inside(0.0), disabled=self._live,
        )  # fmt: skip

        def move() -> None:
            if self.posed is not None and not self._live:
                self.posed.move({of.joint: float(slider.value)})
                self._pose_changed = True

        self._on_input(slider, move)
        return slider

    def _on_input(self, handle: Any, call: Callable[[], None]) -> None:
        """Call a function for input of a person, not for an update by this class."""
        handle.on_update(lambda event: None if event.client is None else self._scene.later(call))

    def _move_sliders(self, posed: PosedRobot) -> None:
        for one in self._ranges:
            position = float(posed.q[posed.robot.joint_q_indices[one.joint]])
            self._sliders[one.joint].value = one.inside(position)

    def _choose_frame(self, frame: str) -> None:
        self.frame = frame
        if self._chosen.value != frame:
            self._chosen.value = frame
        self._scene.show_axes(frame)
        self._next_update = 0.0

    def _look_at(self) -> None:
        if self.posed is not None:
            self.posed.look_at()

    def _pose(self, posed: PosedRobot) -> str:
        X = posed.frame_pose(self.frame)
        if X is None:
            return ''
        # Adding zero makes a negative zero positive.
        place, turned = (
            ', '.join(f'{value + 0.0:.4f}' for value in np.round(values, 4))
            for values in (X[:3, 3], pose_numbers(X)[3:])
        )
        return f'in `{posed.robot.root_frame}`: x y z **{place}** m\n\nquaternion x y z w {turned}'

    def _with_effort_limits(
        self, robot: RigidBodySystem, torques: Mapping[str, float]
    ) -> dict[str, Bar]:
        joints = {joint.name: joint for joint in robot.model.actuated}
        return {
            name: Bar(float(value), float(joints[name].limits.effort))
            for name, value in torques.items()
            if name in robot.joint_v_indices
        }

    # --- a target and its solutions ---------------------------------------------------------------

    def _reach_controls(self) -> list[Any]:
        gui = self._scene.gui
        with self._reach_tab:
            wanted = gui.add_checkbox('target to drag', initial_value=False)
            self._reach_text = gui.add_markdown('Its frame is the one chosen under Robot.')
        wanted.on_update(lambda _: self._scene.later(lambda: self._toggle_target(wanted.value)))
        return [wanted, self._reach_text]

    def _toggle_target(self, wanted: bool) -> None:
        """Show the draggable target at the selected frame, or remove it."""
        posed = self.posed
        if posed is None:
            return
        if not wanted:
            self._scene.show_target(None, 0.0, self._solve_for)
            self._scene.show_ghosts([])
            return
        pose = posed.poses_at(posed.q)[self.frame]
        self._scene.show_target(pose, 0.25, self._solve_for)
        self._solve_for(pose)

    def _solve_for(self, pose: Pose) -> None:
        """Show all solutions for a pose; without joint states the robot takes the nearest one."""
        posed = self.posed
        if posed is None:
            return
        position, (w, x, y, z) = pose
        problem = posed.robot, (*position, x, y, z, w), self.frame, posed.q
        try:
            self._solutions = solve_all(*problem, timeout=SEARCH_TIME, max_solutions=MAX_SOLUTIONS)
            text = f'**{len(self._solutions)} solutions** for `{self.frame}`'
            if not self._solutions:
                best = solve(*problem, timeout=SEARCH_TIME)
                text = (
                    f'**no solution** for `{self.frame}`: {best.reason}, '
                    f'{best.position_error:.3f} m away'
                )
        except DynamicsRosError as error:
            self._solutions, text = (), f'**no solution**: {error}'
        if self._solutions:
            nearest = self._solutions[0]
            text += (
                f'; the nearest is {nearest.limit_margin:.2f} from a limit, '
                f'with manipulability {nearest.manipulability:.3f}'
            )
            self.pose(nearest.q)
        self._reach_text.content = text
        self._scene.show_ghosts([posed.poses_at(one.q) for one in self._solutions])
