# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A signal while an executable is still starting ends it like any other: exit code 0, no word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

import node_server
from ros_harness import NodeProcess
from shared_memory import needs_fast_dds

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not Path('/proc/self/maps').exists(), reason='needs Linux'),
]

DOMAIN, PARTICIPANT = 87, 'the participant is there'

MOMENTS = {
    'numpy is imported': '_multiarray_umath',
    'rclpy is imported': '_rclpy_pybind11',
    'the middleware is loaded': 'librmw_',
}
"""What of it is mapped into the process then."""


def wait_until_mapped(process: NodeProcess, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while what not in Path(f'/proc/{process.pid}/maps').read_text():
        assert process.alive, process.printed
        assert time.monotonic() < deadline, f'{what} is never mapped'


@pytest.mark.parametrize('times', [1, 5])
@pytest.mark.parametrize('moment', [*MOMENTS, pytest.param(PARTICIPANT, marks=needs_fast_dds)])
def test_signals_while_it_starts_end_a_node_with_exit_code_0(moment, times):
    """Of several signals the first counts."""
    process = NodeProcess('dynamics_ros', DOMAIN, [], node_server.start_alone)
    wait_until_mapped(process, MOMENTS.get(moment, '/dev/shm/fastdds_'))
    for number in range(times):
        process.send((signal.SIGINT, signal.SIGTERM)[number % 2])
    code, _ = process.end(signal.SIGINT if times == 1 else signal.SIGTERM)
    printed = process.printed
    process.close()
    assert code == 0, printed
    assert 'Traceback' not in printed and 'KeyboardInterrupt' not in printed


NODES = (
    'contact_node',
    'dynamics_node',
    'impedance_controller_node',
    'kinematics_node',
    'cartesian_servo_node',
)

LARGE = ('interpolate', 'ndimage', 'optimize', 'signal', 'sparse', 'spatial', 'special', 'stats')
"""Parts that take 0.1 to 0.6 s; after ``import scipy`` each is loaded where it is first used."""


FOR_ACTIONS = ('calibration', 'identification')
"""Rooms that contact_node needs for its action calibrate alone."""


@pytest.mark.parametrize(('package', 'parts'), [('scipy', LARGE), ('dynamics_ros', FOR_ACTIONS)])
def test_no_node_loads_what_it_does_not_need_to_start(package, parts):
    """A robot that waits for it should not wait for SciPy."""
    imports = '\n'.join(f'import dynamics_ros.nodes.{name}' for name in NODES)
    found = f'[part for part in {parts} if "{package}." + part in sys.modules]'
    program = f'import sys\n{imports}\nprint(*{found})'
    run = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert (run.returncode, run.stdout.split()) == (0, []), run.stderr


LACKING = {
    **{
        f"No module named '{lacking}'": f"""
for name in [x for x in sys.modules if x.startswith('{lacking}')]:
    del sys.modules[name]
sys.meta_path.insert(0, Lacking := type('Lacking', (), {{}}))
def find_spec(name, *_):
    if name == '{lacking}':
        raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
Lacking.find_spec = staticmethod(find_spec)
"""
        for lacking in ('rclpy', 'rclpy.event_handler')
    },
    "cannot import name 'PublisherEventCallbacks' from 'rclpy.event_handler'": """
del sys.modules['rclpy.event_handler'].PublisherEventCallbacks
""",
}
"""As without ROS or with another Python, as Humble, and as a later release might be."""


@pytest.mark.parametrize(
    ('entry', 'lacking'),
    [
        *(('nodes.entry.composed', lacking) for lacking in LACKING),
        *((f'tools.{name}', "No module named 'rclpy'") for name in ('doctor', 'estimate_bag')),
    ],
)
def test_what_a_release_lacks_is_named(entry, lacking):
    module, _, name = entry.rpartition('.')
    program = f"""
import rclpy.node, sys
{LACKING[lacking]}
from dynamics_ros.{module} import {name}
sys.argv[1:] = ['--help']
sys.exit({name}())
"""
    environment = {**os.environ, 'ROS_DISTRO': 'humble'}
    run = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 1
    assert run.stderr.startswith(f'cannot start: {lacking}')
    assert 'expected ROS 2 Jazzy or newer, and ROS_DISTRO is humble' in run.stderr
    assert 'Traceback' not in run.stderr
