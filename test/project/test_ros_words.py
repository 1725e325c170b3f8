# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/ros` does with topics, services, actions and parameters what `ros2` does."""

from __future__ import annotations

import importlib.util
import re
import shlex
import signal
import subprocess
import time

import pytest

pytest.importorskip('rclpy')

from documents import PAGES, ROOT, commands
from patience import PATIENCE
from ros_harness import occupy
from terminals import Terminals

DOMAIN = 162
SHOWN = re.compile(r'ros2 (?:service call|lifecycle set) .+')

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope='module')
def nodes(tmp_path_factory):
    """A simulated arm at rest, with all nodes."""
    occupy(DOMAIN)
    terminals = Terminals(tmp_path_factory.mktemp('graph'), DOMAIN)
    file = f'-p robot_description_file:={ROOT}/urdf/seven_joint_arm.urdf'
    for number, words in enumerate(
        (
            f'robot_simulator --ros-args {file} -p motion:=false -p joint_state_rate:=20.0',
            f'dynamics_ros --ros-args {file}',
            f'cartesian_servo_node --ros-args {file}',
            f'impedance_controller_node --ros-args {file}',
        )
    ):
        terminals.start(str(number), f'exec ros2 run dynamics_ros {words}')
    terminals.run('ros2 topic echo --once /contact_node/contact_state')
    try:
        yield terminals
    finally:
        terminals.close()


@pytest.fixture
def graph(nodes, monkeypatch, capsys):
    """Runs a command in this process, as the script does: what it prints, and its exit code."""
    interrupted = signal.getsignal(signal.SIGINT)
    spec = importlib.util.spec_from_file_location('graph', ROOT / 'scripts' / 'graph.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signal.signal(signal.SIGINT, interrupted)
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))

    def run(command, code=0, wait=60.0):
        monkeypatch.setattr(module, 'WAIT', wait)
        monkeypatch.setattr('sys.argv', shlex.split(command))
        try:
            ended = module.main()
        except SystemExit as end:
            ended = end.code
        printed = capsys.readouterr()
        assert code is None or bool(ended) == bool(code), printed.err
        return printed.out + (printed.err if code != 0 else '')

    return run


def test_topics(graph, nodes):
    # As with ros2 itself, topics may be listed before all nodes are discovered.
    listed = '/joint_states [sensor_msgs/msg/JointState]'
    end = time.monotonic() + PATIENCE
    while listed not in graph('ros2 topic list -t'):
        assert time.monotonic() < end, f'{listed} is never listed'
    printed = graph('ros2 topic echo --once /joint_states')
    assert 'name:\n- shoulder_yaw\n' in printed and printed.endswith('\n---\n')
    pose = graph('ros2 topic echo --once --field pose.position /kinematics_node/tool0/pose')
    assert re.fullmatch(r'x: .*\ny: .*\nz: .*\n---\n', pose)
    rates = nodes.run('ros2 topic hz /joint_states | head -n 1 || true')
    assert float(re.search(r'average rate: ([0-9.]+)', rates)[1]) > 1.0


def test_parameters(graph):
    assert '  observer.gain\n' in graph('ros2 param list /contact_node')
    assert graph('ros2 param get /contact_node observer.gain') == ('Double values are: [75.0]\n')
    node = '/contact_node adaptation.share'
    assert graph(f'ros2 param set {node} 0.5') == 'Set parameter successful\n'
    assert graph(f'ros2 param get {node}') == 'Double value is: 0.5\n'
    graph(f'ros2 param set {node} 0.0')


def test_an_action_with_feedback(graph):
    printed = graph(
        'ros2 action send_goal --feedback /dynamics_node/identify_payload '
        'dynamics_ros_msgs/action/IdentifyPayload "{frame: tool0, duration: 2.0}"'
    )
    assert printed.startswith('Goal accepted\n') and 'Feedback:\n    elapsed: ' in printed
    assert re.search(r'Result:\n    result:\n(.*\n)+Goal finished with status: ', printed)


@pytest.mark.parametrize(
    'command',
    sorted({match[0] for page in PAGES for x in commands(page) if (match := SHOWN.match(x))}),
)
def test_each_line_of_the_documents(graph, command):
    done = graph(command, code=None)
    assert 'response:' in done or 'Transitioning successful' in done or 'refused' in done, done
    assert 'Traceback' not in done


@pytest.mark.parametrize(
    ('words', 'problem'),
    [
        ('topic echo /nowhere', '/nowhere has no publisher'),
        ('topic echo --field velocities /joint_states', 'no field velocities; there are: header'),
        ('service call /contact_node/tare std_srvs/srv/Trig', 'no srv std_srvs/srv/Trig'),
        ('service call /nowhere std_srvs/srv/Trigger', 'there is no service /nowhere'),
        (
            'service call /contact_node/tare std_srvs/srv/Trigger "{a: 1}"',
            'there is no field a; there are:',
        ),
        ('param get /contact_node nothing', '/contact_node has no parameter nothing'),
        ('param set /contact_node observer.gain -1.0', 'setting the parameter failed'),
        ('lifecycle set /contact_node fly', 'there is no transition fly'),
        ('topic fly', "invalid choice: 'fly'"),
    ],
)
def test_a_wrong_command_is_refused_in_one_line(graph, words, problem):
    printed = graph(f'ros2 {words}', code=1, wait=3.0 if '/nowhere' in words else 60.0)
    assert problem in printed.splitlines()[-1], printed


def test_the_script_sources_the_workspace():
    done = subprocess.run(
        [ROOT / 'scripts' / 'ros', 'topic', '--help'], capture_output=True, text=True
    )
    assert '{list,echo,hz}' in done.stdout
