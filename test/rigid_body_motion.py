# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An arm that moves by its own dynamics: the truth that estimators are held to."""

from __future__ import annotations

import numpy as np


def runge_kutta_step(robot, q, v, tau, dt, wrenches=None):
    """One step of fourth order with constant joint torques; the manifold is the robot's own."""

    def a(q, v):
        return robot.forward_dynamics(q, v, tau, wrenches)

    # Classical Runge-Kutta in coordinates of the tangent space: exact to 4th order for one-turn
    # joints; for a floating base the configuration is right to 2nd, hence the small steps used.
    k1 = a(q, v)
    k2 = a(robot.integrate(q, 0.5 * dt * v), v + 0.5 * dt * k1)
    k3 = a(robot.integrate(q, 0.5 * dt * v + 0.25 * dt**2 * k1), v + 0.5 * dt * k2)
    k4 = a(robot.integrate(q, dt * v + 0.5 * dt**2 * k2), v + dt * k3)
    q_next = robot.integrate(q, dt * v + dt**2 / 6.0 * (k1 + k2 + k3))
    return q_next, v + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def moving_arm(robot, duration, dt, wrenches=None, friction=None):
    """Samples (time, q, v, effort, true external torque) of an arm that swings fast.

    Args:
        robot: the robot.
        duration: s
        dt: s; torques are held over each step.
        wrenches: {frame: wrench (6) in that frame}, or a function of time that gives them.
        friction: torque (nv) that is lost at a velocity, as a function of it.

    Returns:
        Each sample's effort is that of the step that led to it ('interval'), before friction.
    """
    q, v = np.full(robot.nq, 0.4), np.zeros(robot.nv)
    effort = np.zeros(robot.nv)
    samples = []
    for step in range(round(duration / dt) + 1):
        time = step * dt
        acting = wrenches(time) if callable(wrenches) else wrenches
        external = np.zeros(robot.nv)
        for frame, wrench in (acting or {}).items():
            external += robot.jacobian(q, frame, 'local').T @ wrench
        samples.append((time, q, v, effort, external))
        phases = 2.0 * np.arange(robot.nv) + 5.0 * time
        goal = 0.4 + 0.8 * (1.0 - np.cos(5.0 * time)) * np.sin(phases)
        # Scaled to the inertia, so that light joints do not oscillate.
        effort = robot.gravity(q) + robot.mass_matrix(q) @ (100.0 * (goal - q) - 20.0 * v)
        lost = 0.0 if friction is None else friction(v)
        q, v = runge_kutta_step(robot, q, v, effort - lost, dt, acting)
    return samples
