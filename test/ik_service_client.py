# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A client of compute_inverse_kinematics in a process of its own, which checks every answer.

Run as `python ik_service_client.py DOMAIN CALLS DEPTH SEED`; prints one JSON object at its end.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial

import numpy as np
from rclpy.qos import QoSProfile
from ros_harness import client, description, share

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_message
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseKinematics

SERVICE = '/kinematics_node/compute_inverse_kinematics'
FRAME = 'tool0'
IN_FLIGHT = 4

# The search aims at 1e-5 m and rad; the entries of the pose are of length one.
ANSWERED = 3e-5


def main(domain: int, calls: int, depth: int, seed: int) -> dict[str, object]:
    robot = Robot.from_urdf(description())
    rng = np.random.default_rng(seed)
    outcome = {'asked': 0, 'answered': 0, 'right': 0, 'wrong': 0, 'failed': 0}
    codes: dict[str, int] = {}

    def request(target):
        message = ComputeInverseKinematics.Request(frame=FRAME)
        message.target.pose = pose_message(target)
        message.timeout.sec = 2
        return message

    def check(target, waiting, future):
        waiting.discard(future)
        response = future.result()
        outcome['answered'] += 1
        if response.result.code != Result.SUCCESS:
            outcome['failed'] += 1
            codes[response.result.message] = codes.get(response.result.message, 0) + 1
            return
        found = robot.forward_kinematics(np.array(response.solution.position), FRAME)
        right = np.abs(found - target).max() < ANSWERED
        outcome['right' if right else 'wrong'] += 1

    share(domain)
    with client(domain) as one:
        # The harness asks again until the server has found this client.
        first = robot.forward_kinematics(robot.random_configuration(rng), FRAME)
        one.call(ComputeInverseKinematics, SERVICE, request(first))
        # Every client's reader gets the responses to all of them, which displace its own.
        kept = QoSProfile(depth=depth)
        service = one.node.create_client(ComputeInverseKinematics, SERVICE, qos_profile=kept)
        one.wait_for(service.service_is_ready)
        one.wait_for(partial(answered_once, one, service, request(first), []))
        waiting: set[object] = set()
        began = time.monotonic()
        while outcome['asked'] < calls:
            target = robot.forward_kinematics(robot.random_configuration(rng), FRAME)
            future = service.call_async(request(target))
            waiting.add(future)
            future.add_done_callback(partial(check, target, waiting))
            outcome['asked'] += 1
            wait_until(one, lambda: len(waiting) < IN_FLIGHT, outcome)
        wait_until(one, lambda: not waiting, outcome)
        seconds = time.monotonic() - began
    return {**outcome, 'seconds': seconds, 'messages': codes}


def wait_until(one, condition, outcome) -> None:
    try:
        one.wait_for(condition)
    except AssertionError as error:
        raise AssertionError(f'answers do not come any more: {outcome}') from error


def answered_once(one, service, message, futures) -> bool:
    """Whether a response has come through this very client."""
    if not futures or time.monotonic() - futures[-1][0] > 1.0:
        futures.append((time.monotonic(), service.call_async(message)))
    return any(future.done() for _, future in futures)


if __name__ == '__main__':
    print(json.dumps(main(*map(int, sys.argv[1:5]))))
