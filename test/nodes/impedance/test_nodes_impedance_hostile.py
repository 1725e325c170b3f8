# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What no robot or client should send: the arm is braked or led on, and what is wrong is named."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import time
from contextlib import nullcontext

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from few_joint_arms import ARMS, few_joint_arm
from geometry_msgs.msg import PoseStamped, TransformStamped
from impedance_harness import NAMES, NODE, ROBOT, TIMEOUT, TOPIC, Q, played_arm
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_harness import client, description, running, shared, stamp_of, tf2_for_nodes
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 204


def value_of(status, key):
    """Value of a key in a status."""
    return {x.key: x.value for x in status.values}[key]


played = shared(played_arm, DOMAIN)


@pytest.fixture(scope='module')
def stormed():
    """By a clock that jumps, and by transforms."""
    with (
        tf2_for_nodes(),
        played_arm(DOMAIN + 3, use_sim_time=True, transform_timeout=1.0) as one,
    ):
        yield one


def assert_handed_over(played, words, reason, lead):
    """The arm is braked, and given up for a reason."""
    played.told(f'braking: {words}', lead)
    status = played.told(f'inactive: {words}', lead)
    assert value_of(status, 'reason') == reason
    assert status.level == DiagnosticStatus.ERROR
    played.assert_bounded(0.05)
    assert played.ends_commanding(lead)
    assert played.lifecycle == 'inactive'


def be_fast(played):
    """Until the arm is in the middle of its motion."""
    played.ros.wait_for(
        lambda: np.cos(played.time) > 0.95, meanwhile=lambda: played.lead(step=0.008), period=0.004
    )


def test_joint_states_that_are_too_rare_for_springs_brake_the_arm(played):
    played.follow()
    played.told('braking: joint states every 50 ms are too rare', lambda: played.lead(step=0.05))
    played.hear(10, lambda: played.lead(step=0.05))
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_an_arm_with_a_joint_that_is_told_of_no_more_is_handed_over(played):
    played.follow()
    others = [name for name in NAMES if name != NAMES[3]]
    words = f'no news of {NAMES[3]}'
    assert_handed_over(played, words, 'joints_stale', lambda: played.lead(names=others))


def test_a_joint_that_is_not_commanded_is_braked_while_it_has_no_velocity():
    def without():
        message = played.message()
        message.velocity[6] = np.nan
        played.ros.publish_joint_state(message)
        played.lead_along([0, 0, 0.05, 0, 0, 0])

    parameters = {'frame': 'forearm_link', 'command_joints': NAMES[:4]}
    with played_arm(DOMAIN + 4, **parameters) as played:
        played.follow()
        played.told(f'braking: no velocity of {NAMES[6]}', without)
        played.hear(400, without)  # 1.6 s; a commanded joint is missed for 1.2 s
        assert played.lifecycle == 'active'
        assert (np.abs(played.efforts) <= ROBOT.effort_limits[:4]).all()
        played.told('following twist_command', played.lead)


def test_an_arm_whose_stamps_run_back_is_handed_over(played):
    played.follow()
    words = 'stamps on joint_states are older'
    assert_handed_over(played, words, 'stamps_old', lambda: played.lead(step=-1e-4))


@pytest.mark.parametrize('both', [False, True])
def test_a_pause_of_the_machine_does_not_hand_over(played, both):
    """The node, or the driver too, stands for longer than states may be missing."""
    played.follow()
    played.node.send(signal.SIGSTOP)
    end = time.monotonic() + 1.5 * TIMEOUT
    try:
        played.ros.wait_for(
            lambda: time.monotonic() > end,
            meanwhile=None if both else played.report,
            period=0.004,
        )
    finally:
        played.node.send(signal.SIGCONT)
    played.told('following twist_command', played.lead)
    assert played.lifecycle == 'active'


@pytest.mark.parametrize('number', [np.nan, -np.inf])
def test_a_position_that_is_not_finite_brakes_the_arm_at_once(played, number):
    def report_broken():
        message = played.message()
        message.position[3] = number
        played.ros.publish_joint_state(message)

    problem = f'no news of {NAMES[3]}: position not finite'
    played.follow()
    report_broken()  # once: all later states are good
    status = played.told(problem, played.report)
    assert value_of(status, 'reason') == 'position_not_finite'
    played.told('following twist_command', played.lead)
    assert_handed_over(played, problem, 'position_not_finite', report_broken)


def test_frozen_joint_states_brake_the_arm_and_then_deactivate_the_node(played):
    be_fast(played)
    played.follow()
    played.stands = True
    words = f'the joint state of {NAMES[0]} is frozen'
    assert_handed_over(played, words, 'states_frozen', played.lead)
    # The last command carries the arm about where it stands (none would be 11 Nm off; springs
    # that an arm that is played has loaded drive the predicted one away).
    carries = ROBOT.gravity(played.middle + 0.1 * np.sin(played.time))
    assert np.abs(played.efforts[-1] - carries).max() < 8.0
    played.stands = False
    played.follow()


CONTROLLER_MANAGER = f"""#!{sys.executable}
import rclpy
from controller_manager_msgs.srv import SwitchController
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

def switch(request, response):
    started, stopped = request.activate_controllers, request.deactivate_controllers
    print('switch from', *stopped, 'to', *started, 'as', request.strictness, flush=True)
    response.ok = started == ['position_controller']
    response.message = '' if response.ok else 'no such controller'
    return response

rclpy.init()
executor = SingleThreadedExecutor()
manager, controller = Node('controller_manager'), Node('effort_controller')
manager.create_service(SwitchController, '~/switch_controller', switch)
controller.create_subscription(Float64MultiArray, '{TOPIC}', lambda message: None, 10)
executor.add_node(manager)
executor.add_node(controller)
try:
    executor.spin()
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


@pytest.mark.parametrize(
    ('name', 'manager', 'result'),
    [
        ('position_controller', 'controller_manager', 'position_controller takes over'),
        ('other', 'controller_manager', 'other was not activated: no such controller'),
        ('other', '', '/controller_manager/switch_controller does not exist, so other is not'),
    ],
)
def test_a_fallback_controller_takes_over_an_arm_whose_states_stay_frozen(
    tmp_path, name, manager, result
):
    pytest.importorskip('controller_manager_msgs')
    script = tmp_path / 'controller_manager'
    script.write_text(CONTROLLER_MANAGER)
    script.chmod(0o755)
    with (
        running(str(script), DOMAIN + 1) if manager else nullcontext() as process,
        played_arm(DOMAIN + 1, fallback_controller=name) as one,
    ):
        nodes = one.ros.node.get_node_names
        one.ros.wait_for(lambda: not manager or {manager, 'effort_controller'} <= set(nodes()))
        one.follow()
        be_fast(one)
        one.stands = True
        status = one.told(result, one.lead)
        assert value_of(status, 'reason') == 'states_frozen'
        assert status.level == DiagnosticStatus.ERROR
        assert one.lifecycle == 'inactive'
        # The listener of the test has no controller; best effort, so that it is ignored.
        asked = f'switch from effort_controller test_client to {name} as 1'
        assert process is None or process.printed.splitlines() == [asked]


def test_a_fallback_controller_needs_the_messages_of_the_controller_manager(monkeypatch, tmp_path):
    broken = tmp_path / 'controller_manager_msgs'
    broken.mkdir()
    (broken / '__init__.py').write_text('raise ImportError')
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}')
    parameters = {'command_joints': NAMES, 'fallback_controller': 'position_controller'}
    with running(NODE, DOMAIN + 1, parameters) as node, client(DOMAIN + 1) as ros:
        expected = 'fallback_controller.*the package controller_manager_msgs .* not installed'
        ros.wait_for(lambda: re.search(expected, node.printed))
        assert 'Traceback' not in node.printed


def test_positions_that_jump_and_stay_end_in_an_inactive_node(played):
    played.follow()
    before = played.middle
    played.middle = before + 1.5 * (np.arange(7) == 3)
    status = played.told(f'inactive: the position of {NAMES[3]} has jumped', played.lead)
    assert value_of(status, 'reason') == 'position_jumped'
    assert status.level == DiagnosticStatus.ERROR
    played.assert_bounded(0.05)
    played.middle = before
    played.follow()


def test_time_that_goes_back_and_forth_is_survived_within_bounds(played):
    played.follow()
    for jump in (-10.0, 100.0, -100.0, -0.3, 0.3, -3600.0):
        played.stamp += round(jump * 1e9)
        played.live(100, played.lead)
    played.wait_until_led(played.lead, 0.004)
    played.assert_bounded(0.05)


def test_two_publishers_of_one_joint_a_delay_apart_brake_or_go_on_within_bounds(played):
    played.follow()
    late = []

    def both():
        message = played.message()
        late.append(message)
        played.ros.publish_joint_state(message)
        played.lead_along([0, 0, 0.05, 0, 0, 0])
        if len(late) > 100:
            played.ros.publish_joint_state(late.pop(0))

    played.live(400, both)
    played.assert_bounded(0.05)


@pytest.mark.parametrize(
    ('topic', 'kind', 'already'),
    [(TOPIC, Float64MultiArray, 1), (f'/{NODE}/pose_command', PoseStamped, 0)],
)
def test_who_else_commands_or_leads_the_arm_is_told(played, topic, kind, already):
    played.follow()
    publisher = played.ros.node.create_publisher
    rivals = [publisher(kind, topic, 10) for _ in range(2 - already)]
    status = played.told(f'another publisher on {topic}', played.report)
    assert status.level != b'\0'
    for rival in rivals:
        played.ros.node.destroy_publisher(rival)
    del played.statuses[:]
    played.ros.wait_for(
        lambda: played.statuses and 'another' not in played.status,
        meanwhile=played.report,
        period=0.004,
    )


def test_an_angle_that_its_driver_wraps_is_no_jump_of_a_continuous_joint():
    last = NAMES[-1]
    urdf = description().replace(
        f'<joint name="{last}" type="revolute">', f'<joint name="{last}" type="continuous">'
    )
    assert urdf != description()
    middle = Q.copy()
    middle[-1] = np.pi
    with played_arm(DOMAIN + 2, middle=middle, wraps=True, robot_description=urdf) as one:
        one.follow()
        del one.statuses[:]
        # A turn of its motion to and fro over the end of the angles.
        until = one.time + 2.0 * np.pi
        one.ros.wait_for(
            lambda: one.time > until, meanwhile=lambda: one.lead(step=0.008), period=0.004
        )
        assert not any('jumped' in message.message for message in one.statuses)
        one.assert_bounded(0.05)


CAMERA = 'camera'


def led_again(stormed, **changes):
    """It follows targets as if nothing had been, and was bounded all the time."""
    stormed.wait_until_led(lambda: stormed.lead(**changes), 0.004)
    stormed.assert_bounded(0.05)


def test_transitions_in_any_order_from_two_clients_at_once(stormed):
    stormed.follow()
    clients = [
        stormed.ros.node.create_client(ChangeState, f'/{NODE}/change_state') for _ in range(2)
    ]
    stormed.ros.wait_for(lambda: all(one.service_is_ready() for one in clients))
    labels = ['deactivate', 'activate', 'cleanup', 'configure', 'activate', 'configure', 'fly']
    orders = [labels * 3, labels[::-1] * 3]
    for pair in zip(*orders, strict=True):
        futures = []
        for one, label in zip(clients, pair, strict=True):
            request = ChangeState.Request()
            request.transition.label = label
            futures.append(one.call_async(request))
        stormed.ros.wait_for(
            lambda futures=futures: all(future.done() for future in futures),
            meanwhile=stormed.lead,
            period=0.004,
        )
    while stormed.lifecycle != 'active':
        stormed.change('configure')
        stormed.change('activate')
    led_again(stormed)
    for one in clients:
        stormed.ros.node.destroy_client(one)


def test_a_clock_that_jumps_stops_and_begins_again(stormed):
    """What comes in time is told by the machine's clock, whatever time is simulated."""
    times = [10**10, 10**13, 10**9, 10**9, 5 * 10**12, 0, 10**11]
    for clock in times:
        ticks = itertools.count(clock, 4_000_000)

        def tell(ticks=ticks):
            stormed.ros.publish('/clock', Clock(clock=stamp_of(next(ticks))))
            stormed.lead()

        stormed.live(30, tell)
    # It stands still.
    stormed.live(100, stormed.lead)
    led_again(stormed)


NAN, INF = float('nan'), float('inf')


@pytest.mark.parametrize(
    ('w', 'place'),
    [(NAN, 0.0), (0.0, 0.0), (2.0, 0.0), (1.0, INF)],
)
def test_transforms_that_are_none_lead_nobody(stormed, w, place):
    def see():
        nonsense = seen(CAMERA, (0.0, 0.0, 0.0, w), place)
        stormed.ros.publish('/tf', TFMessage(transforms=[nonsense]))
        stormed.report()
        stormed.lead_along([0, 0, 0.05, 0, 0, 0], CAMERA)

    stormed.told(f'twist_command refused: tf of {CAMERA!r}', see)
    led_again(stormed)


def seen(frame, quaternion, place=0.0):
    """Where a frame is in the root frame, whenever."""
    one = TransformStamped(child_frame_id=frame)
    one.header.frame_id, one.header.stamp = ROBOT.root_frame, Time()
    one.transform.translation.x = place
    names = 'x', 'y', 'z', 'w'
    for name, value in zip(names, quaternion, strict=True):
        setattr(one.transform.rotation, name, value)
    return one


def test_a_flood_of_targets_and_of_parameters(stormed):
    """Twenty targets and as many requests between two joint states."""
    stormed.follow()
    setter = stormed.ros.node.create_client(SetParameters, f'/{NODE}/set_parameters')
    stormed.ros.wait_for(setter.service_is_ready)
    turn = itertools.count()

    def flood():
        stormed.report()
        for _ in range(20):
            n = next(turn)
            stormed.lead_along([0, 0, 0.05 * (-1) ** n, 0, 0, 0])
            pose = stormed.flood_pose.copy()
            pose[2, 3] += 0.5 * (-1) ** n
            stormed.lead_to(pose)
        stiffness = [float(x) for x in np.repeat([200.0 + 600.0 * (n % 2), 10.0], 3)]
        request = SetParameters.Request()
        request.parameters = [Parameter('stiffness', value=stiffness).to_parameter_msg()]
        setter.call_async(request)

    stormed.flood_pose = ROBOT.forward_kinematics(stormed.middle, 'tool0')
    stormed.hear(300, flood)
    led_again(stormed)
    stormed.ros.node.destroy_client(setter)


@pytest.mark.parametrize(('name', 'angle', 'said'), [
    ('gantry', 0.0, 'holding'),
    ('scara', 0.0, 'holding; limited by: near a singularity'),
])  # fmt: skip
def test_an_arm_with_few_joints_is_quiet_where_it_loses_no_direction(name, angle, said):
    names = [f'joint_{i}' for i in range(1, len(ARMS[name][0]) + 1)]
    parameters = {
        'robot_description': few_joint_arm(name),
        'frame': 'tool',
        'command_joints': names,
        'joint_state_timeout': 5.0,
    }
    rest, held = np.zeros(len(names)), np.full(len(names), angle)
    with running(NODE, DOMAIN + 1, parameters), client(DOMAIN + 1) as ros:
        statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        ros.listen(Float64MultiArray, TOPIC, 5000)
        status = ros.wait_for(
            lambda: next((m for m in statuses if m.message == said), None),
            meanwhile=lambda: ros.publish_joint_state(ros.joint_state(names, held, rest, rest)),
            period=0.004,
        )
        assert (status.level == DiagnosticStatus.OK) == (said == 'holding')
