# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Evidence of single pieces of a surface, and which of them the robot occludes."""

import numpy as np
import pytest
from arm import ARM, ROBOT
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm

from dynamics_ros import Robot
from dynamics_ros.estimation.contact.occlusion import REACH, PosedSurfaces
from dynamics_ros.estimation.contact.surface import Patches


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_the_evidence_is_the_density_of_the_torques_and_the_probability_of_a_push(backend):
    arm = ROBOT if backend == 'auto' else Robot.from_urdf(ARM, backend=backend)
    rng = np.random.default_rng(5)
    kernel = arm.kernel('location_evidence')
    for _ in range(20):
        J, torque = rng.normal(size=(6, arm.nv)), rng.normal(size=arm.nv) * 5.0
        weights, units = rng.uniform(0.5, 3.0, arm.nv), rng.uniform(0.1, 10.0, 5)
        weights[rng.integers(arm.nv)] = 0.0
        wrenches = rng.normal(size=(3, 6, 5))
        evidence, mean, residuals = kernel(J, torque, weights, units, wrenches)
        for i, wrench in enumerate(wrenches):
            A = weights[:, None] * (J.T @ wrench) * units
            y, C = weights * torque, np.eye(5) + A.T @ A
            density = multivariate_normal(cov=np.eye(arm.nv) + A @ A.T).logpdf(y)
            density += 0.5 * arm.nv * np.log(2.0 * np.pi)
            x = np.linalg.solve(C, A.T @ y)
            pushes = norm.logcdf(x[0] / np.sqrt(np.linalg.inv(C)[0, 0]))
            assert_allclose(evidence[i], density + pushes, rtol=1e-9)
            assert_allclose(mean[i], x, rtol=1e-8, atol=1e-12)
            assert_allclose(residuals[i], y - A @ x, rtol=1e-8, atol=1e-10)


def test_parts_within_reach_along_the_line_of_action_occlude_a_point():
    rng = np.random.default_rng(3)
    q = rng.uniform(-1.0, 1.0, ROBOT.nq)
    links = ROBOT.frame_names[1:4]
    surfaces = {
        link: Patches(rng.uniform(-0.4, 0.4, (400, 3)), normals, np.full(400, 3e-4), 0.01)
        for link in links
        for normals in [np.tile([0.0, 0.0, 1.0], (400, 1))]
    }
    poses = [ROBOT.forward_kinematics(q, link) for link in links]
    pieces = np.concatenate(
        [surfaces[link].points @ X[:3, :3].T + X[:3, 3] for link, X in zip(links, poses)]
    )
    found = PosedSurfaces(ROBOT, surfaces, q)
    seen = set()
    for spread in (0.02, 0.5, 3.0):
        for index, X in enumerate(poses):
            points = rng.uniform(-0.05, 0.05, (50, 3)) + rng.uniform(-0.3, 0.3, 3)
            forces = rng.normal(size=3) + spread * rng.normal(size=(50, 3))
            forces[7] = 0.0
            expected = []
            for point, force in zip(points, forces):
                direction = -X[:3, :3] @ force / max(np.linalg.norm(force), 1e-9)
                offsets = pieces - (X[:3, :3] @ point + X[:3, 3])
                ahead = offsets @ direction
                apart = np.linalg.norm(offsets - ahead[:, None] * direction, axis=1)
                hits = (apart < np.sqrt(3e-4 / np.pi)) & (REACH[0] < ahead) & (ahead < REACH[1])
                expected.append(bool(hits.any()))
            hidden = found.hide(index, points, forces)
            assert hidden.tolist() == expected
            assert not hidden[7]
            seen |= set(expected)
    assert seen == {True, False}
