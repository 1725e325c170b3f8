# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several frames at once, numbers of a robot as inputs of its kernels, and kernels that go."""

from __future__ import annotations

import numpy as np
import pytest
from arm import ARM
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from random_robots import robots
from tolerances import EXACT, LAW

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.spatial import Motion, Transform


@pytest.fixture(params=['fixed', 'floating'])
def robot(request):
    return Robot.from_urdf(ARM, root_joint=request.param)


def state(robot):
    rng = np.random.default_rng(2)
    return robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


OF_A_FRAME = {
    'forward_kinematics': 1,
    'frame_velocity': 2,
    'frame_acceleration': 3,
    'jacobian': 1,
    'jacobian_derivative': 2,
    'jacobian_hessian': 1,
}


class TestSeveralFrames:
    @pytest.mark.parametrize('name', OF_A_FRAME)
    def test_are_what_each_is(self, robot, name):
        arguments = state(robot)[: OF_A_FRAME[name]]
        frames = robot.frame_names[-3:]
        call = getattr(robot, name)
        for options in [(), ('world',)] if name != 'forward_kinematics' else [()]:
            wanted = np.stack([call(*arguments, frame, *options) for frame in frames])
            for several in (list(frames), frames):
                for _ in range(2):
                    found = call(*arguments, several, *options)
                    np.testing.assert_allclose(found, wanted, rtol=EXACT, atol=EXACT)


class TestParameters:
    def test_gravity(self, robot):
        q, v, a = state(robot)
        kernel = robot.kernel('inverse_dynamics', parameters='gravity')
        for gravity in ([0.0, 0.0, -9.81], [1.0, -2.0, 3.0]):
            wanted = robot.with_gravity(gravity).inverse_dynamics(q, v, a)
            np.testing.assert_allclose(kernel(q, v, a, gravity), wanted, rtol=LAW, atol=LAW)

    @examples(8)
    @given(robots(), st.integers(0, 2**32 - 1))
    def test_placements_are_where_joints_are(self, robot, seed):
        rng = np.random.default_rng(seed)
        q, n = robot.random_configuration(rng), len(robot.body_names)
        moves = rng.normal(scale=0.3, size=(n, 6))
        found = robot.kernel('all_frames', parameters='placements')(q, moves)
        poses = {}
        for joint, move, body in zip(robot.model.joints, moves, range(n), strict=True):
            turn = Transform.exp(Motion.from_array(np.r_[np.zeros(3), move[3:]])).array()
            turn[:3, 3] = move[:3]
            within = joint.placement.array() @ turn @ joint.displacement(q).array()
            poses[body] = poses.get(joint.parent, np.eye(4)) @ within
        for pose, frame in zip(found, robot.model.frames, strict=True):
            wanted = poses.get(frame.body, np.eye(4)) @ frame.placement.array()
            np.testing.assert_allclose(pose, wanted, rtol=LAW, atol=LAW)

    def test_the_derivative_by_placements_is_a_slope(self, robot):
        q, n, step = state(robot)[0], len(robot.body_names), 1e-6
        kernel = robot.kernel('forward_kinematics', robot.frame_names[-1], parameters='placements')
        slopes = kernel.derivative('parameters')(q, np.zeros((n, 6)))
        for i in range(n):
            for j in range(6):
                move = np.zeros((n, 6))
                move[i, j] = step
                slope = (kernel(q, move) - kernel(q, -move)) / (2.0 * step)
                np.testing.assert_allclose(slopes[:, :, i, j], slope, atol=1e-8)

    def test_other_names_are_refused(self, robot):
        for name in ('lengths', 3, ['gravity']):
            with pytest.raises(InvalidArgumentError, match=r"^parameters.*'placements'"):
                robot.kernel('gravity', parameters=name)
