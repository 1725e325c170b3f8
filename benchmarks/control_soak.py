# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node at 1 kHz with small doses of whatever a robot, clients or disks may do.

The arm is simulated by MuJoCo with rotors that the node does not know. On a machine with more to do
than it has processors, its time passes slower, since torques that come late are another arm's; none
passes while this process is late. An arm that the node has handed over is held by brakes, as by
those of a driver, until the node is active again. The disk of the node is full, where this process
may mount one. This part is skipped without MuJoCo or rclpy.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.control_faults import FAULTS, SPEED, Cell, Sample, cells, hand_along
from benchmarks.control_plant import mujoco
from benchmarks.records import Goal, Record

NODE = 'impedance_controller_node'
DT = 1e-3
BEHIND = 10
"""Steps that are caught up after this process was late; other time is lost."""

RECOVERED = 0.7
"""Time after a dose from which the node should brake no more [s]."""

WARM = 4
"""Number of swaps at the start, which compile both robots; from then on memory may not grow."""

DISTURBED = ('states_frozen', 'states_contradictory', 'position_jumped', 'unexpected_error')
"""Reasons that a late machine does not explain."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Move the shipped arm for ``options.soak`` minutes."""
    try:
        import rclpy
    except ImportError:
        rclpy = None
    cell = next(cells(options.robot or 'arm', 0.1), None) if mujoco and rclpy else None
    if cell is None or cell.name != 'arm':
        print('soak is left out: it needs MuJoCo, rclpy and the robot arm')
        return
    minutes = 0.3 if options.quick else options.soak
    with ExitStack() as stack:
        soak = Soak(cell, stack)
        soak.live(60.0 * minutes)
        alive = float(soak.process.poll() is None)
    gaps = np.sort(soak.lengths)
    growth = max(soak.memory[-3:]) - max(soak.memory[:3]) if soak.memory else float('nan')
    print(f'doses: {dict(soak.doses)}, reasons: {dict(soak.reasons)}, full disk: {soak.full}')
    print(f'longest gaps [s]: {soak.gaps}')
    for what, value, unit, goal in (
        ('doses', sum(soak.doses.values()), '', None),
        ('tool speed', soak.speed, 'm/s', Goal(SPEED + 1.0, of='value')),
        ('kinetic energy', soak.energy, 'J', Goal(5.0, of='value')),
        ('gap between commands, longest', 1e3 * gaps[-1], 'ms', None),
        ('gap between commands, p99.9', 1e3 * gaps[int(0.999 * len(gaps))], 'ms', None),
        ('arm held up by the machine, longest', 1e3 * soak.late, 'ms', None),
        ('pace of time', soak.pace, '', None),
        ('time of the arm', DT * soak.steps, 's', None),
        ('handed over', soak.surrenders, '', None),
        ('states doubted without a dose', soak.unprovoked, '', Goal(0.0, of='value')),
        ('memory growth', growth, 'MB', None if options.quick else Goal(5.0, of='value')),
        ('node alive', alive, '', Goal(1.0, of='value', at_least=True)),
    ):
        case = f'soak of {minutes:g} min: {what}'
        yield Record('control', case, cell.name, float(value), unit, goal=goal)


class Soak:
    """The arm, the node, and the doses.

    Attributes:
        process: the node.
        doses, reasons: numbers of doses by kind, and of changes of the status by reason.
        speed, energy: largest of the tool [m/s] and of the arm [J].
        lengths: times between two commands, in that of the arm [s].
        gaps: the longest of them by the last dose.
        late: longest time that this process was late [s].
        steps: number of steps of the arm, each ``DT``.
        pace: time of the arm as a share of that of the machine.
        surrenders: times that the node has handed over the arm.
        unprovoked: changes of the status to one of ``DISTURBED`` long after the last dose.
        memory: of the node [MB], once a second of the arm, from ``WARM`` swaps on.
        full: whether its disk is full.
    """

    def __init__(self, cell: Cell, stack: ExitStack) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticStatus
        from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3Stamped
        from lifecycle_msgs.srv import ChangeState
        from rcl_interfaces.srv import SetParameters
        from rclpy.node import Node
        from rclpy.task import Future
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray, String
        from std_srvs.srv import SetBool

        from dynamics_ros.nodes.outputs import LATCHED
        from dynamics_ros.nodes.process import make_executor, spin

        self._cell, self._random = cell, np.random.default_rng(0)
        self.doses: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.speed = self.energy = self.late = self._last_dose = 0.0
        self.surrenders = self.unprovoked = 0
        self.pace = min(1.0, (os.cpu_count() or 1) / (os.getloadavg()[0] + 1.0))
        self.lengths: list[float] = []
        self._heard = 0.0
        self.gaps: dict[str, float] = {}
        self._kind = ''
        self.memory: list[float] = []
        self._active, self._carried, self._reason, self._mode = False, False, '', 'impedance'
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._urdf = (Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf').read_text()
        self.full = self._fill(folder / 'disk', stack)
        rclpy.init()
        stack.callback(rclpy.try_shutdown)
        node, executor = Node('benchmark_arm'), make_executor()
        executor.add_node(node)
        # Its clients are never read, and some of them are destroyed at once.
        self._asker = Node('benchmark_clients')
        self._states = node.create_publisher(JointState, 'joint_states', 10)
        self._targets = {
            kind: node.create_publisher(kind, f'{NODE}/{name}', 1)
            for kind, name in ((TwistStamped, 'twist_command'), (PoseStamped, 'pose_command'))
        }
        self._descriptions = node.create_publisher(String, 'robot_description', LATCHED)
        self._gravity = node.create_publisher(Vector3Stamped, 'gravity', LATCHED)
        self._describe(self._urdf)
        ask = self._asker.create_client
        self._setter = ask(SetParameters, f'{NODE}/set_parameters')
        self._lifecycle = ask(ChangeState, f'{NODE}/change_state')
        self._pause = ask(SetBool, f'{NODE}/pause')
        node.create_subscription(Float64MultiArray, f'{NODE}/joint_commands', self._hear, 10)
        node.create_subscription(DiagnosticStatus, f'{NODE}/status', self._note, 100)
        self.process = stack.enter_context(self._started(folder))
        self._jobs = stack.enter_context(ThreadPoolExecutor(1))
        over: Future[None] = Future(executor=executor)
        thread = threading.Thread(target=spin, args=(executor, node, over), daemon=True)
        thread.start()
        stack.callback(thread.join, 5.0)
        stack.callback(executor.create_task, over.set_result, None)

    # --- the node -------------------------------------------------------------------------------

    def _fill(self, disk: Path, stack: ExitStack) -> bool:
        """Mount a small disk, and fill it; False if this is not allowed."""
        disk.mkdir()
        mount = ['mount', '-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', str(disk)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            return False
        stack.callback(subprocess.run, ['umount', '-l', str(disk)], check=False)
        (disk / 'filling').write_bytes(bytes(64 * 1024))
        return True

    def _started(self, folder: Path) -> Any:
        import yaml
        from ament_index_python.packages import get_package_prefix

        from benchmarks.ros_bench import ended

        parameters = {
            'command_joints': list(self._cell.robot.joint_names),
            'autostart': True,
            'setpoint': {'linear_speed': SPEED},
            'joint_state_timeout': 0.1 / self.pace,
            'command_timeout': 0.5 / self.pace,
        }
        file = folder / 'parameters.yaml'
        file.write_text(yaml.safe_dump({NODE: {'ros__parameters': parameters}}))
        program = Path(get_package_prefix('dynamics_ros')) / 'lib/dynamics_ros' / NODE
        folders = ('DYNAMICS_ROS_CACHE', 'ROS_LOG_DIR', 'TMPDIR', 'HOME')
        environment = os.environ | {name: str(folder / 'disk') for name in folders}
        command = [str(program), '--ros-args', '--log-level', 'fatal', '--params-file', str(file)]
        return ended(subprocess.Popen(command, env=environment, text=True))

    def _hear(self, message: Any) -> None:
        tau = np.array(message.data)
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= self._cell.robot.effort_limits + 1e-9).all()
        now = DT * self.steps
        if self._carried:
            gap = round(now - self._heard, 3)
            self.lengths.append(gap)
            self.gaps[self._kind] = max(self.gaps.get(self._kind, 0.0), gap)
        self._cell.tau, self._carried, self._heard = tau, True, now

    def _note(self, message: Any) -> None:
        values = {x.key: x.value for x in message.values}
        active, reason = values['lifecycle'] == 'active', values['reason']
        self.surrenders += self._active and not active
        if reason != self._reason:
            self.reasons[reason] += 1
            late = time.monotonic() > self._last_dose + RECOVERED / self.pace
            # A node that has handed over keeps its reason.
            self.unprovoked += active and reason in DISTURBED and late
        self._active, self._reason, self._carried = active, reason, self._carried and active

    # --- doses ----------------------------------------------------------------------------------

    def _set(self, **values: Any) -> None:
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        parameters = [Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        self._setter.call_async(SetParameters.Request(parameters=parameters))

    def _stop_process(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(0.05 / self.pace)
        self.process.send_signal(signal.SIGCONT)

    def _leave(self) -> None:
        from std_srvs.srv import Trigger

        for _ in range(10):
            client = self._asker.create_client(Trigger, f'{NODE}/acknowledge')
            client.wait_for_service(1.0)
            client.call_async(Trigger.Request())
            self._asker.destroy_client(client)

    def _storm(self) -> None:
        for k in range(100):
            self._set(stiffness=[200.0 + 400.0 * (k % 2)] * 3 + [10.0] * 3)
            time.sleep(0.005)

    def _swap(self) -> None:
        number = self.doses['swap'] % 2
        self._describe(_loaded(self._urdf, 0.2 * number))

    def _describe(self, urdf: str) -> None:
        from std_msgs.msg import String

        self._descriptions.publish(String(data=urdf))

    def _absurd(self) -> None:
        from geometry_msgs.msg import PoseStamped, TwistStamped, Vector3, Vector3Stamped

        for number in (float('nan'), float('inf'), 1e308, -1e5):
            twist, pose = TwistStamped(), PoseStamped()
            twist.twist.linear.x = pose.pose.position.y = number
            for message in (twist, pose):
                self._targets[type(message)].publish(message)
            self._set(stiffness=[number] * 6)
            self._gravity.publish(Vector3Stamped(vector=Vector3(x=number, z=-9.81)))

    def _rest(self) -> None:
        from std_srvs.srv import SetBool

        for paused in (True, False):
            self._pause.call_async(SetBool.Request(data=paused))
            time.sleep(0.3 / self.pace)

    def _activate(self) -> None:
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request()
        request.transition.label = 'activate'
        self._lifecycle.call_async(request)

    # --- the arm --------------------------------------------------------------------------------

    def live(self, seconds: float) -> None:
        """Let the arm live for a time [s] of the machine, one round of a dose after the other."""
        others = {
            'process stopped for 50 ms': self._stop_process,
            'clients that leave': self._leave,
            'parameters': self._storm,
            'swap': self._swap,
            'absurd targets and parameters': self._absurd,
            'pause': self._rest,
        }
        kinds = [*FAULTS, 'no number', 'none for 20 ms', *others]
        cell = self._cell
        cell.place()
        home = np.array(cell.prepared.arm.pose)
        self._began, self.steps, self._next = time.time_ns(), 0, time.monotonic()
        while not self._carried and self.process.poll() is None:
            self._tell(self._advance(home, 'pose'), home, 'pose')
        self.late, end = 0.0, time.monotonic() + seconds
        while time.monotonic() < end:
            kind = str(self._random.choice(kinds if self.doses['swap'] >= WARM else ['swap']))
            mode = str(self._random.choice(['twist', 'pose', 'guiding']))
            mask = self._random.random(cell.robot.nv) < self._random.choice([0.2, 1.0])
            goal = home.copy()
            goal[:3, 3] += self._random.uniform(-0.1, 0.1, 3)
            begins = self.steps + round(self._random.uniform(0.3, 1.0) / DT)
            ends = begins + round(self._random.uniform(0.002, 0.1) / DT)
            last: Sample = (cell.q, cell.v, cell.tau)
            wanted = 'guiding' if mode == 'guiding' else 'impedance'
            if wanted != self._mode:
                self._mode = wanted
                self._set(mode=wanted)
            while self.steps < ends + round(RECOVERED / DT) and time.monotonic() < end:
                true = self._advance(goal, mode)
                sample: Sample | None = true
                if self.steps == begins and self._carried:
                    self.doses[kind] += 1
                    self._kind = kind
                    if kind in others:
                        self._jobs.submit(others[kind])
                if begins <= self.steps < ends:
                    self._last_dose = time.monotonic()
                    if kind in FAULTS:
                        wrong = FAULTS[kind](last, true)
                        sample = tuple(np.where(mask, *x) for x in zip(wrong, true, strict=True))
                    elif kind == 'no number' and self.steps < begins + 5:
                        sample = tuple(np.where(mask, np.nan, x) for x in true)
                    elif kind == 'none for 20 ms' and self.steps < begins + 20:
                        sample = None
                else:
                    last = true
                self._tell(sample, goal, mode)

    def _advance(self, goal: Any, mode: str) -> Sample:
        """Step the arm when it is time, and return its state."""
        cell = self._cell
        self.steps, self._next = self.steps + 1, self._next + DT / self.pace
        left = self._next - time.monotonic()
        if left > 0.0:
            time.sleep(left)
        elif left < -BEHIND * DT / self.pace:
            self.late, self._next = max(self.late, -left), self._next - left
        if not self._carried:
            cell.lock()
            if self.steps % 3000 == 0 and self.lengths and not self._active:
                self._jobs.submit(self._activate)
        else:
            here = cell.robot.forward_kinematics(cell.q, cell.frame)[:3, 3]
            cell.advance(DT, hand_along(goal[:3, 3] - here) if mode == 'guiding' else None)
        self.speed, self.energy = max(self.speed, cell.speed), max(self.energy, cell.energy)
        if self.steps % 1000 == 0 and self.doses['swap'] >= WARM:
            pages = int(Path(f'/proc/{self.process.pid}/statm').read_text().split()[1])
            self.memory.append(4096e-6 * pages)
        return cell.q, cell.v, cell.tau

    def _tell(self, sample: Sample | None, goal: Any, mode: str) -> None:
        """Publish a state, and every tenth time the target."""
        from geometry_msgs.msg import PoseStamped, TwistStamped
        from sensor_msgs.msg import JointState

        from dynamics_ros.wire.conversions import fill, pose_message, time_message

        if sample is not None:
            message = JointState(name=list(self._cell.robot.joint_names))
            message.header.stamp = time_message(self._began + round(1e9 * DT) * self.steps)
            message.position, message.velocity, message.effort = (x.tolist() for x in sample)
            self._states.publish(message)
        if self.steps % 10 == 0 and mode != 'guiding':
            here = self._cell.robot.forward_kinematics(self._cell.q, self._cell.frame)[:3, 3]
            way = goal[:3, 3] - here
            way *= SPEED / max(float(np.linalg.norm(way)), SPEED)
            target = fill(TwistStamped(), np.append(way, np.zeros(3)))
            if mode == 'pose':
                target = PoseStamped(pose=pose_message(goal))
            self._targets[type(target)].publish(target)


def _loaded(urdf: str, mass: float) -> str:
    """Description with a load at the tool [kg]."""
    load = (
        f'<link name="load"><inertial><mass value="{mass:.17g}"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="load" type="fixed"><parent link="tool0"/><child link="load"/></joint>'
    )
    return urdf.replace('</robot>', f'{load}</robot>')
