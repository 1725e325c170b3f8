"""Our nodes on the real middleware, beside the floor of rclpy and beside the usual way.

Three processes run at once, each in a namespace of its own, and take turns: ours, all three nodes
composed with every output on; an *echo* that computes nothing; a *reference* on Pinocchio. The
outputs are listened to from another process, which reads the last of them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.records import Goal, Record

ROBOT, FRAME = 'xarm7', 'link_eef'
PUSH = (0.0, 20.0, 10.0, 0.0, 0.0, 0.0)
"""Wrench of a contact at the frame [N, Nm]."""

NOMINAL = 1000.0
RATES = (1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0, 8000.0, 10000.0)
LOST = 1e-3
"""Part of the joint states that may go unanswered at a rate that counts as held."""

DOMAIN = '89'
STARTS = 7
IDLE = 0.05
"""Processor time a second of a process that has nothing more to compile."""

SETTLE = 60.0
"""Seconds that may take."""

SLOW = ('kinematics_node/markers', 'contact_node/markers')
TOPICS = {
    f'kinematics_node/{FRAME}/pose': 'geometry_msgs/PoseStamped',
    f'kinematics_node/{FRAME}/twist': 'geometry_msgs/TwistStamped',
    '/tf': 'tf2_msgs/TFMessage',
    'dynamics_node/gravity_torques': 'sensor_msgs/JointState',
    'dynamics_node/gravity_commands': 'std_msgs/Float64MultiArray',
    'contact_node/external_torques': 'sensor_msgs/JointState',
    'contact_node/contact_state': 'dynamics_ros_msgs/ContactState',
    f'contact_node/{FRAME}/wrench': 'geometry_msgs/WrenchStamped',
    f'contact_node/{FRAME}/estimate': 'dynamics_ros_msgs/ExternalWrench',
    **dict.fromkeys(SLOW, 'visualization_msgs/MarkerArray'),
}
TIMED = f'contact_node/{FRAME}/estimate'
COUNTED = 'dynamics_node/gravity_torques'
STATUS = 'ours/dynamics_node: outputs'
TOLD = 'joint_states not answered, newer ones waited', 'joint_states lost on the way'
"""What our nodes say themselves of joint states that were not answered."""

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


def run(options: argparse.Namespace) -> Iterator[Record]:
    """All figures; prints nothing else."""
    if options.robot and options.robot not in ROBOT:
        return
    os.environ.setdefault('ROS_DOMAIN_ID', DOMAIN)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = _Bench(Path(folder), options.quick)
        stack.callback(bench.close)
        ours = stack.enter_context(bench.ours())
        if options.swap:
            yield from bench.swaps(ours, options.soak, options.swap)
            return
        others = [stack.enter_context(bench.echo())]
        if 'pin' in options.peers:
            others.append(stack.enter_context(bench.reference()))
        yield from _at_nominal_rate(bench, ours, others)
        yield from _highest_rate(bench, ours, others)
        yield _service(bench, ours)
        yield from _soak(bench, ours, options.soak)
        yield _start(bench)


def _at_nominal_rate(bench: _Bench, ours: Running, others: list[Running]) -> Iterator[Record]:
    found: dict[str, list[Any]] = {one.name: [] for one in (ours, *others)}
    for _ in range(bench.rounds):
        for one in (ours, *others):
            found[one.name].append(bench.measured(one, NOMINAL, bench.seconds))
    cost, p50, p99 = (
        {name: statistics.median(map(figure, all_of)) for name, all_of in found.items()}
        for figure in (
            lambda x: x.cost,
            lambda x: x.percentile(50.0),
            lambda x: x.percentile(99.0),
        )
    )
    limits = {'echo': 1.3, 'reference': 0.4}
    for one in others:
        yield bench.record('CPU a message at 1 kHz', cost, one, 'us', goal=Goal(limits[one.name]))
    for one in others:
        goal = Goal(1.2) if one.name == 'echo' else None
        yield bench.record('round trip p50 at 1 kHz', p50, one, 'us', goal=goal)
        yield bench.record('round trip p99 at 1 kHz', p99, one, 'us', goal=goal)
    limit = Goal(1000.0, of='value')
    yield Record('ros', 'round trip p99 at 1 kHz', ROBOT, p99['ours'], 'us', goal=limit)
    pushed = [
        bench.measured(ours, NOMINAL, bench.seconds, pushed=True) for _ in range(bench.rounds)
    ]
    touched = {**cost, 'ours': statistics.median(one.cost for one in pushed)}
    case = 'CPU a message at 1 kHz, in contact'
    yield bench.record(case, touched, others[0], 'us', goal=Goal(limits['echo']))


def _highest_rate(bench: _Bench, ours: Running, others: list[Running]) -> Iterator[Record]:
    held: dict[str, float] = {}
    for one in (ours, *others):
        held[one.name] = 0.0
        for rate in RATES:
            # Once more if not: a stall of the machine is no limit of the process.
            if not any(bench.holds(one, rate) for _ in range(2)):
                break
            held[one.name] = rate
    case = 'highest rate held'
    yield Record(
        'ros', case, ROBOT, held['ours'], 'Hz', goal=Goal(5000.0, of='value', at_least=True)
    )
    for one in others:
        goal = Goal(2.0, at_least=True) if one.name == 'reference' else None
        yield bench.record(case, held, one, 'Hz', goal=goal)


def _service(bench: _Bench, ours: Running) -> Record:
    found = bench.called_beside(ours, NOMINAL)
    case, values = 'inverse dynamics p50 beside 1 kHz', found['inverse dynamics']
    return Record('ros', case, ROBOT, values, 'us', 'empty service', found['empty'], Goal(1.5))


def _soak(bench: _Bench, ours: Running, minutes: float) -> Iterator[Record]:
    seconds = 60.0 * minutes if not bench.quick else 6.0
    before = bench.meter.told(STATUS, TOLD)
    # Of every joint state; an estimate is silent after a gap in the stamps.
    counted = replace(ours, timed=_full(ours.name, COUNTED))
    with bench.meter.apart():
        result = bench.measured(counted, NOMINAL, seconds)
    case = f'{minutes:g} min at 1 kHz' if not bench.quick else 'some s at 1 kHz'
    none = Goal(0.0, of='value')
    missing = float(result.sent - result.received)
    yield Record('ros', f'{case}: not answered', ROBOT, missing, '', goal=none)
    after = bench.meter.told(STATUS, TOLD)
    for what, count, earlier in zip(TOLD, after, before, strict=True):
        yield Record('ros', f'{case}: {what}', ROBOT, count - earlier, '')
    memory = result.memory
    settled = memory[min(60, len(memory) // 2)]
    growth = max(memory[-5:]) - settled
    limit = Goal(1.0, of='value')
    yield Record('ros', f'{case}: memory growth', ROBOT, growth, 'MB', goal=limit)


def _start(bench: _Bench) -> Record:
    taken = [bench.start_to_first_output(i) for i in range(1 if bench.quick else STARTS)]
    goal = Goal(1.5, of='value')
    return Record('ros', 'start to first output', ROBOT, statistics.median(taken), 's', goal=goal)


class _Bench:
    """Files, processes and the meter."""

    def __init__(self, folder: Path, quick: bool) -> None:
        from sensor_msgs.msg import JointState

        from benchmarks.descriptions import bare
        from benchmarks.robots import urdf_path
        from benchmarks.ros_meter import Meter
        from dynamics_ros import Robot

        self.quick = quick
        self.rounds = 1 if quick else 5
        self.seconds = 2.0 if quick else 10.0
        self._folder = folder
        self._urdf = folder / 'robot.urdf'
        self._urdf.write_text(bare(urdf_path(ROBOT)))
        robot = Robot.from_urdf(self._urdf, backend='python')
        q = 0.3 * robot.lower_limits.clip(-1.0) + 0.7 * robot.upper_limits.clip(max=1.0)
        self._names = list(robot.joint_names)
        gravity = robot.gravity(q)
        push = robot.jacobian(q, FRAME).T @ PUSH
        self._state, self._pushed = (
            JointState(
                name=self._names,
                position=q.tolist(),
                velocity=[0.0] * robot.nv,
                effort=effort.tolist(),
            )
            for effort in (gravity, gravity - push)
        )
        self._file = folder / 'joint_state'
        self._pushed_file = folder / 'joint_state_pushed'
        self._parameters = self._written_parameters()
        self.meter = Meter()
        self._write_state()

    def close(self) -> None:
        """Leave the middleware."""
        self.meter.close()

    # --- processes ------------------------------------------------------------------------------

    @contextmanager
    def ours(self) -> Iterator[Running]:
        """Our nodes; what they publish is kept for the echo."""
        from benchmarks.ros_meter import start

        topics = {_full('ours', topic): kind for topic, kind in TOPICS.items()}
        with _ended(start('ros_ours', *self._arguments('ours'))) as process:
            one = Running('ours', process.pid, topics, _full('ours', TIMED))
            with self.meter.publishing('ours', self._state) as publish:
                self._keep(self.meter.captured(topics, publish))
            _settle(process.pid)
            yield one

    @contextmanager
    def echo(self) -> Iterator[Running]:
        """The floor."""
        from benchmarks.ros_meter import start

        topics = {f'/echo/out{i}': kind for i, kind in enumerate(TOPICS.values())}
        timed = f'/echo/out{list(TOPICS).index(TIMED)}'
        with _ended(start('ros_echo', str(self._folder), *_namespace('echo'))) as process:
            yield Running('echo', process.pid, topics, timed)

    @contextmanager
    def reference(self) -> Iterator[Running]:
        """The usual way."""
        from benchmarks.ros_meter import start

        node = '/reference/benchmark_reference'
        topics = {
            f'{node}/{name}': kind
            for name, kind in zip(REFERENCE_NAMES, TOPICS.values(), strict=True)
        }
        arguments = (str(self._urdf), FRAME, *_namespace('reference'))
        with _ended(start('ros_reference', *arguments)) as process:
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
        """What becomes of joint states at a rate, of an arm that nobody touches or one pushes.

        With a file for stamps, the numbers of the answers are kept as well, one a joint.
        """
        file = self._pushed_file if pushed else self._file
        with self.meter.listening(one.topics, one.timed):
            with self.meter.publishing(one.name, self._state) as publish:
                self.meter.first_answer(publish)
            end = 8 * len(self._names) if stamps else 0
            return self.meter.measure(
                one.pid, one.name, file, rate, seconds, stamps=stamps, end=end
            )

    def swaps(self, ours: Running, minutes: float, every: float) -> Iterator[Record]:
        """What becomes of joint states, and of the process, while the robot is replaced."""
        from benchmarks.ros_swaps import expected, soak

        seconds = 60.0 * minutes if not self.quick else 4.0 * every
        counted = replace(ours, timed=_full(ours.name, COUNTED))
        found = soak(self, counted, self._urdf, FRAME, seconds, every)
        torques = expected(self._urdf.read_text(), FRAME, self._state.position)
        yield from found.records(ROBOT, *torques)

    def holds(self, one: Running, rate: float) -> bool:
        """Whether it answers almost all at a rate."""
        result = self.measured(one, rate, self.seconds)
        # A source that is too slow proves nothing.
        return result.lost <= LOST and result.sent / result.seconds >= 0.98 * rate

    def called_beside(self, one: Running, rate: float) -> dict[str, float]:
        """Medians of service calls [us] while joint states come in."""
        from benchmarks.ros_meter import start

        count = 100 if self.quick else 1000
        found: dict[str, float] = {}

        def call() -> None:
            arguments = (str(self._file), str(count), *_namespace(one.name))
            caller = start('ros_caller', *arguments, piped=True)
            output, _ = caller.communicate()
            found.update(json.loads(output.splitlines()[-1]))

        thread = threading.Thread(target=call)
        thread.start()
        while thread.is_alive():
            self.measured(one, rate, self.seconds)
        thread.join()
        return found

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
            self.meter.publishing(namespace, self._state) as publish,
        ):
            started = time.monotonic()
            with _ended(launched([str(program), *self._arguments(namespace)])):
                return self.meter.first_answer(publish) - started

    def record(
        self,
        case: str,
        values: Mapping[str, float],
        peer: Running,
        unit: str,
        goal: Goal | None = None,
    ) -> Record:
        """Ours beside a peer's."""
        return Record('ros', case, ROBOT, values['ours'], unit, peer.name, values[peer.name], goal)

    # --- files ----------------------------------------------------------------------------------

    def _arguments(self, namespace: str) -> tuple[str, ...]:
        quiet = ('--log-level', 'error')
        return (*_namespace(namespace), *quiet, '--params-file', str(self._parameters))

    def _written_parameters(self) -> Path:
        import yaml

        every = {'robot_description': self._urdf.read_text()}
        own = {
            'kinematics_node': {'frames': [FRAME], 'publish_tf': True},
            'dynamics_node': {**every, 'command_joints': self._names, 'autostart': True},
            'contact_node': {'frames': [FRAME]},
        }
        nodes = {f'/**/{node}': {'ros__parameters': values} for node, values in own.items()}
        path = self._folder / 'parameters.yaml'
        path.write_text(yaml.safe_dump(nodes))
        return path

    def _write_state(self) -> None:
        from rclpy.serialization import serialize_message

        self._file.write_bytes(serialize_message(self._state))
        self._pushed_file.write_bytes(serialize_message(self._pushed))

    def _keep(self, messages: Mapping[str, bytes]) -> None:
        entries = []
        for i, (topic, kind) in enumerate(TOPICS.items()):
            (self._folder / f'message{i}').write_bytes(messages[_full('ours', topic)])
            entry = {'topic': f'out{i}', 'type': kind, 'file': f'message{i}'}
            entries.append({**entry, 'timed': topic == TIMED, 'every': topic not in SLOW})
        (self._folder / 'topics.json').write_text(json.dumps(entries))


def _full(namespace: str, topic: str) -> str:
    return topic if topic.startswith('/') else f'/{namespace}/{topic}'


def _namespace(name: str) -> tuple[str, ...]:
    return ('--ros-args', '-r', f'__ns:=/{name}')


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
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
