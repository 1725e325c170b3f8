# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that requests ask for are made where no message waits for them, and are bounded."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from numpy.testing import assert_allclose
from rclpy.executors import SingleThreadedExecutor
from rclpy.task import Future
from ros_harness import description, occupy

from dynamics_ros import Robot
from dynamics_ros.nodes import workers
from dynamics_ros.nodes.workers import RequestKernels, WarmUp, kernel

pytestmark = pytest.mark.ros

DOMAIN = 57


@pytest.fixture
def executor():
    occupy(DOMAIN)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    one = SingleThreadedExecutor(context=context)
    yield one
    one.shutdown()
    rclpy.shutdown(context=context)


@pytest.fixture
def robot():
    return Robot.from_urdf(description(), backend='python')


@pytest.fixture
def compute(executor):
    """Compute as a service does; the answer, and whether it was in the executor's thread."""
    worker = workers.Worker('builder')
    requests = RequestKernels(worker, WarmUp(worker), lambda: None)

    def wait(robot, kernels, function):
        threads = []

        def noted(home):
            threads.append(threading.current_thread())
            return function(home)

        task = executor.create_task(requests.compute(executor, robot, kernels, noted))
        executor.spin_until_future_complete(task, timeout_sec=20.0)
        return task.result(), threads[0] is threading.current_thread()

    return wait


def test_what_is_there_is_computed_at_once_and_what_is_not_in_a_thread(robot, compute):
    q = robot.neutral()
    gravity = ([kernel('gravity')], lambda home: home.gravity(q))
    first, at_once = compute(robot, *gravity)
    assert not at_once
    again, at_once = compute(robot, *gravity)
    assert at_once
    assert_allclose(again, first, atol=0.0)


def test_frames_that_are_not_configured_leave_the_robot_of_the_topics_as_it_is(robot, compute):
    q = np.full(robot.nq, 0.3)
    for frame in robot.frame_names:
        asked = [kernel('forward_kinematics', frame)]
        pose, _ = compute(robot, asked, lambda home, f=frame: home.forward_kinematics(q, f))
        assert_allclose(pose, Robot(robot.model).forward_kinematics(q, frame), atol=1e-12)
    assert robot.kernels == {}


def test_requests_for_ever_new_frames_are_answered_and_bounded(robot, compute, monkeypatch):
    monkeypatch.setattr(workers, 'MAX_KERNELS', 3)
    q = robot.neutral()
    counts = []
    for frame in robot.frame_names[:8]:

        def answer(home, frame=frame):
            pose = home.forward_kinematics(q, frame)
            counts.append(len(home.kernels))
            return pose

        compute(robot, [kernel('forward_kinematics', frame)], answer)
    assert max(counts) == 3


def test_another_load_keeps_the_kernels_of_requests_and_another_robot_does_not(robot, compute):
    arm = robot.adjustable(robot.frame_names[-1])
    frame, q = robot.frame_names[2], np.full(robot.nq, 0.3)
    asked = [kernel('jacobian', frame, 'local'), kernel('gravity_of', 'wrist_pitch')]

    def torques(home):
        home.jacobian(q, frame, 'local')
        return home.kernel('gravity_of', 'wrist_pitch')(q)

    others = {
        arm: False,
        arm.with_gravity((1.0, 0.0, -9.0)): True,
        arm.with_payload(robot.frame_names[-1], 2.0): True,
        robot.adjustable(robot.frame_names[-1]): False,
    }
    for other, kept in others.items():
        answer, at_once = compute(other, asked, torques)
        assert at_once is kept
        wrist = other.joint_v_indices['wrist_pitch']
        assert_allclose(answer, [other.gravity(q)[wrist]], atol=1e-12)
        assert kernel('jacobian', frame, 'local') not in other.kernels


def test_a_request_for_more_frames_than_are_kept_is_quick_the_second_time(
    robot, compute, monkeypatch
):
    monkeypatch.setattr(workers, 'MAX_KERNELS', 3)
    q, frames = robot.neutral(), robot.frame_names[:8]
    asked = [kernel('forward_kinematics', frame) for frame in frames]
    for expected in (False, True):
        _, at_once = compute(
            robot, asked, lambda home: [home.forward_kinematics(q, frame) for frame in frames]
        )
        assert at_once is expected


def test_errors_reach_whoever_asked(robot, compute):
    def fail(_home):
        raise ZeroDivisionError('it happens')

    with pytest.raises(ZeroDivisionError, match='it happens'):
        compute(robot, [kernel('gravity')], fail)


def test_warming_up_goes_on_in_slices_and_waits_for_requests(executor):
    warm_up = WarmUp(workers.Worker('builder'))
    done: list[int] = []
    finished: Future[None] = Future(executor=executor)
    warm_up.hold()
    steps = [lambda i=i: done.append(i) for i in range(3)]
    last = [lambda: executor.create_task(finished.set_result, None)]
    warm_up.replace(executor, [*steps, *last])
    assert done == []
    warm_up.release(executor)
    executor.spin_until_future_complete(finished, timeout_sec=20.0)
    assert done == [0, 1, 2]
