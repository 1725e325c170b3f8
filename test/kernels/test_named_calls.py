# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of methods that name a frame: in machine code, right whatever the names are."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.kernels import calls

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture
def arm():
    return Robot.from_urdf(ARM, backend='llvm')


@pytest.fixture(scope='module')
def plain():
    return Robot.from_urdf(ARM, backend='python')


class Text(str):
    """Could compare in its own way."""

    __slots__ = ()


def state(robot, seed=0):
    return robot.random_configuration(np.random.default_rng(seed))


def is_direct(robot, name):
    return isinstance(robot._direct_calls.get(name), dict)


class NoPython(Robot):
    """Its methods run machine code or fail."""

    def _run(self, *_, **__):
        raise AssertionError('not in machine code')


def without_python(robot):
    other = NoPython(robot.model, backend='llvm')
    other._use(robot._kernel_set)
    return other


def other_object(name):
    """Return an equal text that is not the same object."""
    copy = (name + ' ')[:-1]
    assert copy == name and copy is not name
    return copy


class TestNames:
    def test_each_frame_has_its_own_answer(self, arm, plain):
        for _ in range(3):
            for seed, frame in enumerate(arm.frame_names):
                q = state(arm, seed)
                np.testing.assert_allclose(
                    arm.forward_kinematics(q, frame),
                    plain.forward_kinematics(q, frame),
                    atol=1e-12,
                )
        assert is_direct(arm, 'forward_kinematics')

    def test_each_reference_has_its_own_answer(self, arm, plain):
        q, frame = state(arm), arm.frame_names[-1]
        v = np.linspace(-1.0, 1.0, arm.nv)
        for _ in range(3):
            for reference in ('world', 'local', 'local_world_aligned'):
                for name, arguments in (('jacobian', (q,)), ('frame_velocity', (q, v))):
                    found = getattr(arm, name)(*arguments, frame, reference)
                    wanted = getattr(plain, name)(*arguments, frame, reference)
                    np.testing.assert_allclose(found, wanted, atol=1e-12)
            np.testing.assert_allclose(arm.jacobian(q, frame), plain.jacobian(q, frame), atol=1e-12)

    def test_an_equal_name_that_is_another_object_is_found(self, arm):
        q, frame = state(arm), arm.frame_names[-1]
        wanted = arm.forward_kinematics(q, frame)
        np.testing.assert_array_equal(arm.forward_kinematics(q, other_object(frame)), wanted)
        np.testing.assert_array_equal(arm.forward_kinematics(q, frame=frame), wanted)
        np.testing.assert_array_equal(arm.forward_kinematics(frame=frame, q=q), wanted)

    @pytest.mark.skipif(calls.native is None, reason=calls.why_not_native)
    def test_an_equal_name_that_is_another_object_does_not_leave_the_machine_code(self, arm):
        q, frame = state(arm), arm.frame_names[-1]
        pose, J = arm.forward_kinematics(q, frame), arm.jacobian(q, frame, 'world')
        direct = without_python(arm)
        for name in (frame, other_object(frame)):
            np.testing.assert_array_equal(direct.forward_kinematics(q, name), pose)
            for reference in ('world', other_object('world')):
                np.testing.assert_array_equal(direct.jacobian(q, name, reference), J)
        assert frame == arm.tool_frame
        np.testing.assert_array_equal(direct.forward_kinematics(q), pose)
        for names in (('nowhere',), (7,), (None,), (Text(frame),), (frame, 'world')):
            with pytest.raises((AssertionError, TypeError)):
                direct.forward_kinematics(q, *names)
        for names in ((frame,), (frame, 'local'), (frame, None), (frame, 'world', 'world')):
            with pytest.raises((AssertionError, TypeError)):
                direct.jacobian(q, *names)

    def test_the_default_reference_is_found_without_its_name(self, arm, plain):
        q, frame = state(arm), arm.frame_names[-1]
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match='reference'):
                arm.jacobian(q, frame, None)
            np.testing.assert_array_equal(
                arm.forward_kinematics(q, None), arm.forward_kinematics(q, frame)
            )
            wanted = plain.jacobian(q, frame)
            np.testing.assert_allclose(
                arm.jacobian(q, frame, 'local_world_aligned'), wanted, atol=1e-12
            )
            np.testing.assert_allclose(arm.jacobian(q, frame), wanted, atol=1e-12)

    def test_wrong_names_are_refused(self, arm):
        q, frame = state(arm), arm.frame_names[-1]
        for _ in range(2):
            with pytest.raises(UnknownFrameError):
                arm.forward_kinematics(q, 'nowhere')
            with pytest.raises((UnknownFrameError, TypeError)):
                arm.forward_kinematics(q, ['a list'])
            with pytest.raises(InvalidArgumentError):
                arm.jacobian(q, frame, 'sideways')
            with pytest.raises(TypeError):
                arm.forward_kinematics()
            with pytest.raises(InvalidArgumentError):
                arm.forward_kinematics(frame)
            with pytest.raises(TypeError):
                arm.jacobian(q, frame, 'local', 'local')
            arm.forward_kinematics(q, frame), arm.jacobian(q, frame, 'local')


class TestArguments:
    def test_batches_lists_and_bad_numbers_go_the_way_of_all_calls(self, arm, plain):
        q, frame = state(arm), arm.frame_names[-1]
        arm.forward_kinematics(q, frame)
        assert arm.forward_kinematics([q, q, q], frame).shape == (3, 4, 4)
        np.testing.assert_array_equal(
            arm.forward_kinematics(q.tolist(), frame), arm.forward_kinematics(q, frame)
        )
        with pytest.raises(InvalidArgumentError, match='q'):
            arm.forward_kinematics(q[:-1], frame)
        with pytest.raises(InvalidArgumentError, match='nan'):
            arm.forward_kinematics(q * np.nan, frame)


class TestLife:
    def test_no_count_changes(self, arm):
        q, frame, other = state(arm), arm.frame_names[-1], other_object(arm.frame_names[-2])
        arm.forward_kinematics(q, frame), arm.forward_kinematics(q, other)
        call = arm.forward_kinematics
        watched = [q, frame, other, np.dtype(float), call, None]
        while gc.collect():
            pass  # what earlier tests left goes in steps: a robot, then what its table kept
        before, blocks = [sys.getrefcount(x) for x in watched], sys.getallocatedblocks()
        for _ in range(200_000):
            call(q, frame)
        for _ in range(1000):
            call(q, other)
            call(q, other_object(frame))
        gc.collect()
        after = [sys.getrefcount(x) for x in watched]
        assert all(abs(b - a) <= 10 for a, b in zip(before, after)), (before, after)
        # A block that is lost in each call would make a thousand; other threads have theirs.
        assert abs(sys.getallocatedblocks() - blocks) < 500

    def test_a_method_taken_from_a_robot_outlives_it(self, arm, plain):
        q, frame = state(arm), arm.frame_names[-1]
        arm.forward_kinematics(q, frame)
        call = arm.forward_kinematics
        del arm
        gc.collect()
        np.testing.assert_allclose(call(q, frame), plain.forward_kinematics(q, frame), atol=1e-12)

    def test_a_robot_is_let_go_at_once(self):
        robot = Robot.from_urdf(ARM, backend='llvm')
        robot.forward_kinematics(state(robot), robot.frame_names[-1])
        assert is_direct(robot, 'forward_kinematics')
        gone = weakref.ref(robot)
        gc.disable()
        try:
            del robot
            assert gone() is None
        finally:
            gc.enable()

    def test_threads_that_ask_for_frames_at_the_same_time(self, arm, plain):
        q = state(arm)
        wanted = {frame: plain.forward_kinematics(q, frame) for frame in arm.frame_names}
        wrong = []

        def ask(order):
            for _ in range(50):
                for frame in order:
                    if not np.allclose(arm.forward_kinematics(q, frame), wanted[frame]):
                        wrong.append(frame)

        names = list(arm.frame_names)
        threads = [threading.Thread(target=ask, args=(names[i:] + names[:i],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
