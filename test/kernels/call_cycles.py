# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A program that collects cycles with every kind of call; run by test_named_calls.py.

Each case makes a function that runs machine code. Controllers keep it, sit in reference cycles in
several ways and are collected; their finalizers call it, some come back to life and call it again.
Arrays or machine code that went before the function end this process by a signal or give a wrong
number.
"""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
from forking import URDF

from dynamics_ros import Robot
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels.program import Program, Step

Q = np.array([0.3])
MANY = np.full((64, 1), 0.3)
results = []


def made_robot():
    return Robot.from_urdf(URDF, backend='llvm')


def method():
    robot = made_robot()
    robot.gravity(Q)
    return robot.gravity, (Q,)


def batch():
    return method()[0], (MANY,)


def named():
    robot = made_robot()
    robot.forward_kinematics(Q, 'rod')
    return robot.forward_kinematics, (Q, 'rod')


def of_another_frame():
    return named()[0], (Q, 'base')


def kernel():
    return made_robot().kernel('gravity').call, (Q,)


def bound_kernel():
    return made_robot().kernel('gravity').bind(lambda *_: None), (Q,)


def kernel_alone():
    traced = trace(lambda x: [2.0 * x[0]], {'x': 1}, 'twice')
    return Kernel(traced, 'llvm').call, (Q,)


def program():
    kernel, result = made_robot().kernel('gravity'), np.zeros(1)
    return Program([Step(kernel, (Q.copy(),), (result,))]).run, ()


CASES = method, batch, named, of_another_frame, kernel, bound_kernel, kernel_alone, program


class Controller:
    """Keeps a function as an attribute, beside itself."""

    def __init__(self, make):
        self.call, self.arguments = make()
        self.me = self


class Ending(Controller):
    """Calls it once more when it is collected, and once again from beyond."""

    revived = []  # noqa: RUF012

    def __del__(self):
        results.append(self.call(*self.arguments))
        if len(self.revived) < 2:
            self.revived.append(self)


def in_a_list(make):
    call, arguments = make()
    ring = [call]
    ring.append(ring)
    return call(*arguments)


def on_its_own_robot(make):
    """The function in the dictionary of an object that it refers to."""
    call, arguments = make()
    for owner in (getattr(call, '__self__', None), *gc.get_referents(call)):
        if hasattr(owner, '__dict__'):
            vars(owner).update(kept=call, ring=[call])
    return call(*arguments)


def watched(make):
    controller = Controller(make)
    call, arguments = controller.call, controller.arguments
    weakref.finalize(controller, lambda: results.append(call(*arguments)))
    return controller


def main():
    if 'often' in sys.argv:
        gc.set_threshold(1)
    for make in CASES:
        call, arguments = make()
        right = call(*arguments)
        for use in (Controller, Ending, Ending, in_a_list, on_its_own_robot, watched):
            use(make)
            gc.collect()
        while Ending.revived:
            back = Ending.revived.pop()
            results.append(back.call(*back.arguments))
            del back
        gc.collect()
        assert len(results) == 5, (make.__name__, len(results))
        for result in results:
            np.testing.assert_array_equal(result, right, make.__name__)
        results.clear()
    print('all are alive')


if __name__ == '__main__':
    main()
