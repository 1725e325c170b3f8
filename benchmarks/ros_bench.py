# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files, processes and measurements of the benchmark of the nodes."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.records import Goal, Record
from benchmarks.ros_subjects import COUNTED, SLOW, Subject

NOMINAL = 1000.0
"""Nominal rate of the states [Hz]."""

LOST = 1e-3
"""Largest share of unanswered states at a rate that counts as held."""

IDLE = 0.05
"""Processor time per second below which a process has nothing left to compile."""

SETTLE = 60.0
"""Timeout for that [s]."""

START, PROMPT = 8.0, 0.2
"""Largest start time of a program on a busy machine [s]; largest time of a change [s]."""

REFERENCE_NAMES = (
    *('pose', 'twist', 'tf', 'gravity_torques', 'gravity_commands', 'external_torques'),
    *('contact_state', 'wrench', 'estimate', 'kinematics_markers', 'contact_markers'),
)


@dataclass(frozen=True)
class Running:
    """A process that answers joint states.

    Attributes:
        name: name of the process and its namespace.
        pid: process ID.
        topics: fully qualified topic name to type of its outputs.
        timed: topic that is read, which the process publishes last.
    """

    name: str
    pid: int
    topics: Mapping[str, str]
    timed: str


class Bench:
    """Files, processes and measurements of one robot."""

    def __init__(self, subject: Subject, meter: Any, folder: Path, quick: bool) -> None:
        from rclpy.serialization import serialize_message

        from benchmarks.ros_source import write_turn

        self.subject, self.meter, self.quick = subject, meter, quick
        self.seconds = 2.0 if quick else 10.0
        self._folder, self._pushed = folder, folder / 'pushed'
        self._topics = subject.topics()
        self.urdf = folder / 'robot.urdf'
        self.urdf.write_text(subject.urdf)
        self._turn = subject.turn()
        write_turn(folder, self._turn)
        write_turn(self._pushed, subject.turn(pushed=True))
        self._request = folder / 'request'
        self._request.write_bytes(serialize_message(subject.joint_state()))
        self._parameters = self._written_parameters()

    # --- processes ------------------------------------------------------------------------------

    @contextmanager
    def ours(self) -> Iterator[Running]:
        """Context with our nodes, whose messages are stored for the echo."""
        from benchmarks.ros_meter import start

        topics = {_full_name('ours', topic): kind for topic, kind in self._topics.items()}
        with ended(start('ros_ours', *self._arguments('ours'))) as process:
            one = Running('ours', process.pid, topics, _full_name('ours', self.subject.timed))
            with self.meter.publishing('ours', self._turn) as publish:
                self._store_for_echo(self.meter.captured(topics, publish))
            _settle(process.pid)
            yield one

    @contextmanager
    def echo(self) -> Iterator[Running]:
        """Context with the echo."""
        from benchmarks.ros_meter import start

        topics = {f'/echo/out{i}': kind for i, kind in enumerate(self._topics.values())}
        timed = f'/echo/out{list(self._topics).index(self.subject.timed)}'
        with ended(start('ros_echo', str(self._folder), *_namespace('echo'))) as process:
            yield Running('echo', process.pid, topics, timed)

    @contextmanager
    def reference(self) -> Iterator[Running]:
        """Context with the reference, for a robot with a fixed base and one frame."""
        from benchmarks.ros_meter import start

        node = '/reference/benchmark_reference'
        topics = {
            f'{node}/{name}': kind
            for name, kind in zip(REFERENCE_NAMES, self._topics.values(), strict=True)
        }
        arguments = (str(self.urdf), self.subject.frames[0], *_namespace('reference'))
        with ended(start('ros_reference', *arguments)) as process:
            yield Running('reference', process.pid, topics, f'{node}/estimate')

    # --- measurements ---------------------------------------------------------------------------

    def measured(
        self,
        one: Running,
        rate: float,
        seconds: float,
        *,
        pushed: bool = False,
    ) -> Any:
        """Measure a process with states at a rate, of a robot at rest without or with a push."""
        from benchmarks.ros_source import LAG

        folder = self._pushed if pushed else self._folder
        with self.meter.listening(one.topics, one.timed):
            with self.meter.publishing(one.name, self._turn) as publish:
                self.meter.first_answer(publish)
            wait = (len(self._turn) - 1) * LAG / rate
            return self.meter.measure(one.pid, one.name, folder, rate, seconds, wait=wait)

    def counted(self, ours: Running, seconds: float) -> Any:
        """Measure our process at the nominal rate, by counting its gravity torques."""
        one = replace(ours, timed=_full_name(ours.name, COUNTED))
        with self.meter.apart():
            return self.measured(one, NOMINAL, seconds)

    def holds(self, one: Running, rate: float) -> bool:
        """Whether a process answers almost all states at a rate [Hz]."""
        result = self.measured(one, rate, self.seconds)
        # If the source is too slow, the rate was not tested.
        return result.lost <= LOST and result.sent / result.seconds >= 0.98 * rate

    def beside(
        self, one: Running, seconds: float, module: str, *arguments: str
    ) -> tuple[Any, float]:
        """JSON output of a program of this package, while joint states arrive.

        Args:
            one: process that receives the joint states.
            seconds: duration of the joint states without a pause [s]; repeated until the program
                ends.
            module, arguments: module and arguments of the program.

        Returns:
            The output, and the longest time from a joint state to its answer meanwhile [ms].
        """
        from benchmarks.ros_meter import start

        found: list[str] = []

        def run() -> None:
            program = start(module, *arguments, *_namespace(one.name), piped=True)
            output, _ = program.communicate()
            found.append(output.splitlines()[-1])

        thread = threading.Thread(target=run)
        thread.start()
        longest = 0.0
        while thread.is_alive():
            longest = max(longest, 1e-3 * self.measured(one, NOMINAL, seconds).percentile(100.0))
        thread.join()
        return json.loads(found[0]), longest

    def called(self, one: Running, *, alone: bool) -> tuple[dict[str, float], dict[str, float]]:
        """Median round trips of services, and median times of their callbacks [us], by service.

        Args:
            one: process whose services are called.
            alone: whether no joint states arrive meanwhile.
        """
        from benchmarks.ros_meter import start

        count = 50 if self.quick else 500
        arguments = str(self._request), self.subject.contacts[-1], str(count)
        if alone:
            program = start('ros_caller', *arguments, *_namespace(one.name), piped=True)
            found = json.loads(program.communicate()[0].splitlines()[-1])
        else:
            found, _ = self.beside(one, self.seconds, 'ros_caller', *arguments)
        round_trips, callbacks = found
        return round_trips, callbacks

    def searched(self) -> float:
        """Median time of the search that ``ros_caller`` asks for, by the library [us]."""
        from benchmarks.ros_caller import SHIFT
        from benchmarks.timing import QUICK, Effort, interleaved
        from dynamics_ros.robot import Robot

        robot, frame = Robot(self.subject.urdf), self.subject.contacts[-1]
        q = self.subject.posture()
        target = robot.forward_kinematics(q + SHIFT, frame)
        names = {'robot': robot, 'target': target, 'frame': frame, 'q': q}
        effort = QUICK if self.quick else Effort()
        call = {'': 'robot.inverse_kinematics(target, frame, q).manipulability'}
        return 1e6 * interleaved(call, names, effort)['']

    def longest_beside(self, one: Running, how: str) -> float:
        """Longest time to an answer beside clients that 'leave' or 'stay' [ms]."""
        count = 60 if self.quick else 300
        return self.beside(one, self.seconds, 'ros_leaver', str(count), how)[1]

    def changed_beside(self, one: Running) -> dict[str, list[float]]:
        """Times until changes of gravity and payload are applied [ms]."""
        count = 5 if self.quick else 20
        frame = self.subject.contacts[0]
        from benchmarks.ros_changer import PAUSE

        # A change waits for the next joint state, so joint states must not pause.
        seconds = START + 2 * (count + 1) * (PAUSE + PROMPT)
        return dict(self.beside(one, seconds, 'ros_changer', frame, str(count))[0])

    def start_to_first_output(self, turn: int) -> float:
        """Time from the start of the executable to its first gravity torques [s]."""
        from ament_index_python.packages import get_package_prefix

        from benchmarks.ros_meter import launched

        program = Path(get_package_prefix('dynamics_ros')) / 'lib/dynamics_ros/dynamics_ros'
        # Use a separate namespace per start, so that old messages do not count as answers.
        namespace = f'start{turn}'
        topic = f'/{namespace}/dynamics_node/gravity_torques'
        with (
            self.meter.listening({topic: 'sensor_msgs/JointState'}, topic),
            self.meter.publishing(namespace, self._turn) as publish,
        ):
            started = time.monotonic()
            with ended(launched([str(program), *self._arguments(namespace)])):
                return self.meter.first_answer(publish) - started

    def record(
        self, case: str, value: float, unit: str = '', *peer: Any, goal: Goal | None = None
    ) -> Record:
        """A record; ``peer`` is the name and the figure of a peer, if any."""
        return Record('ros', case, self.subject.name, value, unit, *peer, goal=goal)

    # --- files ----------------------------------------------------------------------------------

    def _arguments(self, namespace: str) -> tuple[str, ...]:
        quiet = ('--log-level', 'error')
        return (*_namespace(namespace), *quiet, '--params-file', str(self._parameters))

    def _written_parameters(self) -> Path:
        import yaml

        own = self.subject.parameters()
        nodes = {f'/**/{node}': {'ros__parameters': values} for node, values in own.items()}
        path = self._folder / 'parameters.yaml'
        path.write_text(yaml.safe_dump(nodes))
        return path

    def _store_for_echo(self, messages: Mapping[str, bytes]) -> None:
        from benchmarks.ros_echo import CAPTURED

        entries = []
        for i, (topic, kind) in enumerate(self._topics.items()):
            (self._folder / f'message{i}').write_bytes(messages[_full_name('ours', topic)])
            entry = {'topic': f'out{i}', 'type': kind, 'file': f'message{i}'}
            timed = topic == self.subject.timed
            entries.append({**entry, 'timed': timed, 'every': topic not in SLOW})
        (self._folder / CAPTURED).write_text(json.dumps(entries))


def _full_name(namespace: str, topic: str) -> str:
    return topic if topic.startswith('/') else f'/{namespace}/{topic}'


def _namespace(name: str) -> tuple[str, ...]:
    return ('--ros-args', '-r', f'__ns:=/{name}')


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Context that ends a process on exit."""
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _settle(pid: int) -> None:
    """Wait until the process compiles nothing.

    Raises:
        TimeoutError: it takes longer than ``SETTLE``.
    """
    from benchmarks.ros_meter import cpu_seconds

    deadline = time.monotonic() + SETTLE
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(1.0)
        now = cpu_seconds(pid)
        if now - before < IDLE:
            return
        before = now
    raise TimeoutError('our process does not come to rest')
