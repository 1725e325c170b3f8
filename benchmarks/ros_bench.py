# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files, processes and measurements behind the benchmark of the nodes."""

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
"""States a second."""

LOST = 1e-3
"""Part of the states that may go unanswered at a rate that counts as held."""

IDLE = 0.05
"""Processor time a second of a process that has nothing more to compile."""

SETTLE = 60.0
"""Seconds that may take."""

START, PROMPT = 8.0, 0.2
"""Seconds that a program takes to start on a busy machine, and that a change takes at most."""

REFERENCE_NAMES = (
    *('pose', 'twist', 'tf', 'gravity_torques', 'gravity_commands', 'external_torques'),
    *('contact_state', 'wrench', 'estimate', 'kinematics_markers', 'contact_markers'),
)


@dataclass(frozen=True)
class Running:
    """A process that answers joint states.

    Attributes:
        name: of the process and its namespace.
        pid: of the process.
        topics: fully qualified name to type of what it publishes.
        timed: the one that is read: what it publishes last.
    """

    name: str
    pid: int
    topics: Mapping[str, str]
    timed: str


class Bench:
    """Files, processes and the meter of one subject."""

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
        """Our nodes; what they publish is kept for the echo."""
        from benchmarks.ros_meter import start

        topics = {_full('ours', topic): kind for topic, kind in self._topics.items()}
        with ended(start('ros_ours', *self._arguments('ours'))) as process:
            one = Running('ours', process.pid, topics, _full('ours', self.subject.timed))
            with self.meter.publishing('ours', self._turn) as publish:
                self._keep(self.meter.captured(topics, publish))
            _settle(process.pid)
            yield one

    @contextmanager
    def echo(self) -> Iterator[Running]:
        """The floor."""
        from benchmarks.ros_meter import start

        topics = {f'/echo/out{i}': kind for i, kind in enumerate(self._topics.values())}
        timed = f'/echo/out{list(self._topics).index(self.subject.timed)}'
        with ended(start('ros_echo', str(self._folder), *_namespace('echo'))) as process:
            yield Running('echo', process.pid, topics, timed)

    @contextmanager
    def reference(self) -> Iterator[Running]:
        """The usual way, of a robot with a fixed base and one frame."""
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
        stamps: Path | None = None,
    ) -> Any:
        """What becomes of states at a rate, of a robot that nobody touches or one pushes.

        With a file for stamps, the numbers of the answers are kept as well, one a joint.
        """
        from benchmarks.ros_source import LAG

        folder = self._pushed if pushed else self._folder
        with self.meter.listening(one.topics, one.timed):
            with self.meter.publishing(one.name, self._turn) as publish:
                self.meter.first_answer(publish)
            wait = (len(self._turn) - 1) * LAG / rate
            end = 8 * len(self.subject.model.joint_names) if stamps else 0
            return self.meter.measure(
                one.pid, one.name, folder, rate, seconds, wait=wait, stamps=stamps, end=end
            )

    def counted(self, ours: Running, seconds: float, *, stamps: Path | None = None) -> Any:
        """What becomes of states at the nominal rate, of which gravity torques are counted."""
        one = replace(ours, timed=_full(ours.name, COUNTED))
        with self.meter.apart():
            return self.measured(one, NOMINAL, seconds, stamps=stamps)

    def holds(self, one: Running, rate: float) -> bool:
        """Whether it answers almost all at a rate."""
        result = self.measured(one, rate, self.seconds)
        # A source that is too slow proves nothing.
        return result.lost <= LOST and result.sent / result.seconds >= 0.98 * rate

    def beside(self, one: Running, seconds: float, module: str, *arguments: str) -> Any:
        """What a program of this folder prints, as JSON, while joint states come in.

        Args:
            one: the process that they come in at.
            seconds: how long they come in without a pause; anew for as long as the program runs.
            module, arguments: the program.
        """
        from benchmarks.ros_meter import start

        found: list[str] = []

        def run() -> None:
            program = start(module, *arguments, *_namespace(one.name), piped=True)
            output, _ = program.communicate()
            found.append(output.splitlines()[-1])

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            self.measured(one, NOMINAL, seconds)
        thread.join()
        return json.loads(found[0])

    def called_beside(self, one: Running) -> dict[str, float]:
        """Medians of service calls [us]."""
        count = 100 if self.quick else 1000
        return dict(self.beside(one, self.seconds, 'ros_caller', str(self._request), str(count)))

    def changed_beside(self, one: Running) -> dict[str, list[float]]:
        """Times until changes of the robot are in force [ms], each of them."""
        count = 5 if self.quick else 20
        frame = self.subject.contacts[0]
        from benchmarks.ros_changer import PAUSE

        # A change would wait for the next joint state, so there must be no pause.
        seconds = START + 2 * (count + 1) * (PAUSE + PROMPT)
        return dict(self.beside(one, seconds, 'ros_changer', frame, str(count)))

    def start_to_first_output(self, turn: int) -> float:
        """Seconds from the start of the executable to its first gravity torques."""
        from ament_index_python.packages import get_package_prefix

        from benchmarks.ros_meter import launched

        program = Path(get_package_prefix('dynamics_ros')) / 'lib/dynamics_ros/dynamics_ros'
        # Of its own each time, so that nothing of the turn before is taken for an answer.
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
        """A figure; ``peer`` is its name and figure where there is one."""
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

    def _keep(self, messages: Mapping[str, bytes]) -> None:
        from benchmarks.ros_echo import CAPTURED

        entries = []
        for i, (topic, kind) in enumerate(self._topics.items()):
            (self._folder / f'message{i}').write_bytes(messages[_full('ours', topic)])
            entry = {'topic': f'out{i}', 'type': kind, 'file': f'message{i}'}
            timed = topic == self.subject.timed
            entries.append({**entry, 'timed': timed, 'every': topic not in SLOW})
        (self._folder / CAPTURED).write_text(json.dumps(entries))


def _full(namespace: str, topic: str) -> str:
    return topic if topic.startswith('/') else f'/{namespace}/{topic}'


def _namespace(name: str) -> tuple[str, ...]:
    return ('--ros-args', '-r', f'__ns:=/{name}')


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended after the block."""
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
    """Until nothing is compiled any more.

    Raises:
        TimeoutError: it takes longer than anybody would wait.
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
