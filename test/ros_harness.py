# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Node executables in processes of their own, and a client that waits for what they do."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import node_server
import pytest
import yaml
from patience import PATIENCE

# Tests talk to nobody but themselves. Set before the middleware reads it.
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

import rclpy
from ament_index_python.packages import get_package_prefix
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

from dynamics_ros.nodes.process import dispose, make_executor

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


COMMANDING = ('cartesian_servo_node', 'impedance_controller_node')
"""Nodes that command a robot, whatever their parameters are."""

ASK_AGAIN = 3.0
"""Seconds without a response after which a request is sent again."""

_running: list[NodeProcess] = []
"""Those that a wait may rely on."""


_domains: dict[int, Any] = {}
"""Locks on the domains in use by this process."""


def occupy(domain: int) -> None:
    """Wait until no other test run on this machine uses the domain, and keep it until the end."""
    if domain not in _domains:
        path = Path(tempfile.gettempdir()) / f'dynamics_ros_test_domain_{domain}.lock'
        lock = path.open('a+')
        deadline = time.monotonic() + PATIENCE
        while not _lock(lock):
            user = f'process {path.read_text()}, which has locked {path}'
            assert time.monotonic() < deadline, f'domain {domain} is in use by {user}'
            time.sleep(0.1)
        lock.truncate(0)
        print(os.getpid(), end='', file=lock, flush=True)
        _domains[domain] = lock
        # What killed processes of an earlier run have left delays discovery by three seconds.
        for port in range(7400 + 250 * domain, 7400 + 250 * (domain + 1)):
            for path in Path('/dev/shm').glob(f'*fastdds_port{port}*'):
                path.unlink(missing_ok=True)


def _lock(file: Any) -> bool:
    """Lock a file, unless another process has it."""
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _leave_domains() -> None:
    for lock in filter(None, _domains.values()):
        lock.close()


# A forked process may outlive a test run that is killed, and would keep its domains.
os.register_at_fork(after_in_child=_leave_domains)


def executable(name: str) -> str:
    """The installed executable of that name."""
    return str(Path(get_package_prefix('dynamics_ros')) / 'lib' / 'dynamics_ros' / name)


class NodeProcess:
    """A running node executable; what it prints is kept."""

    def __init__(
        self,
        name: str,
        domain: int,
        arguments: Sequence[str],
        start: Callable[..., Any] = node_server.start,
    ) -> None:
        occupy(domain)
        environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONUNBUFFERED': '1'}
        self._log = tempfile.TemporaryFile('w+')  # noqa: SIM115 - closed by close()
        self._process = start([executable(name), *arguments], environment, self._log)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if there is still somebody to get it."""
        self._process.send_signal(number)

    @property
    def printed(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def end(self, by: signal.Signals = signal.SIGINT) -> tuple[int, float]:
        """Send a signal; the exit code, and how many seconds the end took."""
        _running[:] = [process for process in _running if process is not self]
        started = time.monotonic()
        if self.alive:
            self._process.send_signal(signal.SIGCONT)  # a failed test may leave it stopped
            self._process.send_signal(by)
        try:
            return self._process.wait(PATIENCE), time.monotonic() - started
        except subprocess.TimeoutExpired:
            self.send(signal.SIGUSR1)  # writes the stacks of a forked node, ends others
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            self._process.kill()
            self._process.wait()
            print(self.printed)
            raise

    def wait(self) -> int:
        """Wait until it ends by itself; the exit code."""
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        self.end()
        self._log.close()


@contextmanager
def running(
    name: str,
    domain: int,
    parameters: Mapping[str, Any] | None = None,
    *,
    namespace: str = '',
    remaps: Mapping[str, str] | None = None,
    enclave: str = '',
) -> Iterator[NodeProcess]:
    """Run an executable until the block ends; parameters go to every node of the process.

    What commands a robot is active from the start, unless ``autostart`` is given.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = ['--ros-args']
        given = dict(parameters or {})
        if name in COMMANDING or 'command_joints' in given:
            given.setdefault('autostart', True)
        if given:
            path = Path(folder) / 'parameters.yaml'
            path.write_text(yaml.safe_dump({'/**': {'ros__parameters': given}}))
            arguments += ['--params-file', str(path)]
        if namespace:
            arguments += ['-r', f'__ns:={namespace}']
        for old, new in (remaps or {}).items():
            arguments += ['-r', f'{old}:={new}']
        if enclave:
            arguments += ['--enclave', enclave]
        # A script of a test, or one in another environment than most, is run as it is.
        own = os.path.isabs(name) or enclave
        start = node_server.start_alone if own else node_server.start
        process = NodeProcess(name, domain, arguments, start)
        _running.append(process)
        try:
            yield process
        except BaseException:
            print(process.printed)
            raise
        finally:
            process.close()


class Client:
    """A node that publishes, listens and calls, and waits for what comes of it."""

    def __init__(
        self, domain: int, name: str = 'test_client', enclave: str = '', infos: bool = False
    ) -> None:
        occupy(domain)
        self._context = rclpy.Context()
        arguments = ['--ros-args', '--enclave', enclave] if enclave else []
        rclpy.init(args=arguments, context=self._context, domain_id=domain)
        self.node = Node(name, context=self._context)
        # The events executor takes a third of the processor time of the other, and raises where
        # a callback has a second argument.
        make = (lambda own: SingleThreadedExecutor(context=own)) if infos else make_executor
        self._executor = make(self._context)
        self._executor.add_node(self.node)
        self._publishers: dict[str, Any] = {}
        self._clients: dict[str, Any] = {}
        self._stamp = 1_000_000_000_000
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self._reported: dict[str, Time] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 100)

    def close(self) -> None:
        dispose(self._executor, [self.node])
        rclpy.shutdown(context=self._context)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = status
            self._reported[status.name] = message.header.stamp

    # --- waiting --------------------------------------------------------------------------------

    def wait_for(
        self,
        condition: Callable[[], Any],
        *,
        meanwhile: Callable[[], Any] | None = None,
        period: float = 0.02,
        patience: float = PATIENCE,
    ) -> Any:
        """Spin until the condition gives something true, which is returned.

        Args:
            condition: looked at after every event.
            meanwhile: done again and again, once a period, until then.
            period: s.
            patience: s until the test fails.
        """
        deadline = time.monotonic() + patience
        again = 0.0
        while True:
            result = condition()
            if result:
                return result
            now = time.monotonic()
            for process in _running:
                assert process.alive, f'a node has died: {process.printed}'
            assert now < deadline, f'waited {patience} s in vain; diagnostics: {self.summary()}'
            if meanwhile is not None and now >= again:
                meanwhile()
                again = now + period
            self._executor.spin_once(timeout_sec=min(period, 0.1))

    def summary(self) -> dict[str, str]:
        """What the nodes say of themselves."""
        return {name: status.message for name, status in self.diagnostics.items()}

    def status(self, name: str) -> DiagnosticStatus:
        """The diagnostics of a node."""
        status = self.diagnostics.get(f'{name}: outputs')
        return status or DiagnosticStatus(message='no diagnostics received yet')

    def values(self, name: str) -> dict[str, str]:
        """The diagnostic values of a node."""
        return {pair.key: pair.value for pair in self.status(name).values}

    def reported_at(self, name: str) -> int:
        """When a node last told its diagnostics, on its clock [ns]; 0: not yet."""
        stamp = self._reported.get(f'{name}: outputs', Time())
        return stamp.sec * 10**9 + stamp.nanosec

    def wait_for_report(self, name: str, **options: Any) -> dict[str, str]:
        """The diagnostic values of a node that has told them after now."""
        now = self.node.get_clock().now().nanoseconds
        self.wait_for(lambda: self.reported_at(name) > now, **options)
        return self.values(name)

    def wait_for_status(self, name: str, text: str, **options: Any) -> DiagnosticStatus:
        """Wait until the diagnostics of a node say something."""
        self.wait_for(lambda: text in self.status(name).message, **options)
        return self.status(name)

    # --- topics ---------------------------------------------------------------------------------

    def listen(self, kind: Any, topic: str, qos: Any = 10) -> list[Any]:
        """A list that grows with the messages of a topic."""
        received: list[Any] = []
        self.node.create_subscription(kind, topic, received.append, qos)
        return received

    def publish(self, topic: str, message: Any, qos: Any = 10) -> None:
        """Publish on a topic."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(type(message), topic, qos)
        self._publishers[topic].publish(message)

    def next_stamp(self, step: float = 0.001) -> Time:
        """A stamp that is a step later than the one before."""
        self._stamp += round(step * 1e9)
        return stamp_of(self._stamp)

    def joint_state(
        self,
        names: Sequence[str],
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
        *,
        step: float = 0.001,
    ) -> JointState:
        """A joint state with the next stamp."""
        message = JointState(name=list(names))
        message.header.stamp = self.next_stamp(step)
        message.position = [float(value) for value in position]
        message.velocity = [float(value) for value in velocity]
        message.effort = [float(value) for value in effort]
        return message

    def publish_joint_state(self, message: JointState, topic: str = '/joint_states') -> None:
        """Publish a joint state as sensors do."""
        self.publish(topic, message, qos_profile_sensor_data)

    def exchange(
        self, message: JointState, received: list[Any], topic: str = '/joint_states'
    ) -> Any:
        """Publish a joint state until a message of its stamp has come back, and return that."""
        return self.wait_for(
            lambda: next((m for m in received if m.header.stamp == message.header.stamp), None),
            meanwhile=lambda: self.publish_joint_state(message, topic),
        )

    # --- services and parameters ----------------------------------------------------------------

    def call(self, kind: Any, name: str, request: Any = None) -> Any:
        """Call a service and wait for its response."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        client = self._clients[name]
        self.wait_for(client.service_is_ready)
        asked = request if request is not None else kind.Request()
        futures: list[Any] = []
        # A server that has not yet found this client's reader drops its response: ask again.
        done = self.wait_for(
            lambda: next((future for future in futures if future.done()), None),
            meanwhile=lambda: futures.append(client.call_async(asked)),
            period=ASK_AGAIN,
        )
        return done.result()

    def ask(self, name: str, request: Any) -> Any:
        """Send a request to a service that ``call`` has had a response of; the future."""
        return self._clients[name].call_async(request)

    def set_parameter(self, node: str, name: str, value: Any) -> Any:
        """Set a parameter of a node; the result with its reason."""
        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg()]
        return self.call(SetParameters, f'/{node}/set_parameters', request).results[0]

    def get_parameter(self, node: str, name: str) -> Any:
        """The value of a parameter of a node."""
        request = GetParameters.Request(names=[name])
        value = self.call(GetParameters, f'/{node}/get_parameters', request).values[0]
        return rclpy.parameter.parameter_value_to_python(value)

    def describe_parameters(self, node: str, names: Sequence[str]) -> list[Any]:
        """What a node says of its parameters."""
        request = DescribeParameters.Request(names=list(names))
        return list(
            self.call(DescribeParameters, f'/{node}/describe_parameters', request).descriptors
        )


class Managed:
    """What a test asks of a managed node and hears of it.

    Attributes:
        ros: client.
        full_name: the node's name with its namespace.
        statuses: of ``~/status``.
    """

    ros: Client
    full_name: str
    statuses: list[DiagnosticStatus]

    @property
    def status(self) -> str:
        return self.statuses[-1].message if self.statuses else ''

    def wait_for_status(
        self, words: str, meanwhile: Callable[[], Any] | None = None, period: float = 0.02
    ) -> DiagnosticStatus:
        """The next status with these words."""
        del self.statuses[:]
        return self.ros.wait_for(
            lambda: next((m for m in self.statuses if words in m.message), None),
            meanwhile=meanwhile,
            period=period,
        )

    def wait_until_led(self, lead: Callable[[], Any], period: float = 0.02) -> None:
        """Lead the node until it follows, also where it was handed over.

        As it is when a busy machine keeps this process from publishing joint states in time.
        """

        def lead_active() -> None:
            if self.status.startswith('inactive'):
                self.change('activate')
            lead()

        self.wait_for_status('following twist_command', lead_active, period)

    @property
    def lifecycle(self) -> str:
        return self.ros.call(GetState, f'{self.full_name}/get_state').current_state.label

    def change(self, label: str) -> bool:
        """Ask for a transition; whether it was made."""
        request = ChangeState.Request()
        request.transition.label = label
        return self.ros.call(ChangeState, f'{self.full_name}/change_state', request).success


@contextmanager
def client(
    domain: int, name: str = 'test_client', enclave: str = '', infos: bool = False
) -> Iterator[Client]:
    """A client until the block ends.

    Args:
        domain: of ROS.
        name: of its node.
        enclave: of its process.
        infos: whether callbacks of subscriptions take the info of a message as well.
    """
    one = Client(domain, name, enclave, infos)
    try:
        yield one
    finally:
        one.close()


@contextmanager
def served(name: str, domain: int, parameters: Mapping[str, Any] | None = None) -> Iterator[Client]:
    """A client beside an executable that runs with these parameters, until the block ends."""
    with running(name, domain, parameters), client(domain) as one:
        yield one


def shared(make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A fixture that a module shares: what a context manager of these arguments gives."""

    @pytest.fixture(scope='module')
    def fixture() -> Iterator[Any]:
        with make(*arguments, **options) as one:
            yield one

    return fixture


def stamp_of(nanoseconds: int) -> Time:
    """A stamp of integer nanoseconds."""
    return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


@contextmanager
def tf2_for_nodes() -> Iterator[None]:
    """Nodes that start in this block find tf2_ros: a stand-in where it is not installed."""
    with found_by_nodes('tf2_ros'):
        yield


@contextmanager
def found_by_nodes(module: str) -> Iterator[None]:
    """Nodes that start in this block find a module: a stand-in where it is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec(module) is None:
            paths = [str(Path(__file__).parent / 'stand_ins'), os.environ.get('PYTHONPATH', '')]
            patch.setenv('PYTHONPATH', os.pathsep.join(filter(None, paths)))
        yield


def faulty(folder: Path, name: str, function: str) -> tuple[str, Path]:
    """An executable in which a function raises while a file is there.

    Args:
        folder: of both.
        name: of the executable.
        function: module and name in it, such as ``package.module:Class.method``.

    Returns:
        Its path, and that of the file.
    """
    script, flag = folder / name, folder / 'fault'
    module, _, place = function.partition(':')
    script.write_text(f"""#!{sys.executable}
import os, {module} as module
from functools import wraps
from dynamics_ros.nodes import executables

function = module.{place}

@wraps(function)
def faulty(*arguments, **options):
    if os.path.exists({str(flag)!r}):
        raise ZeroDivisionError('a fault of the program')
    return function(*arguments, **options)

module.{place} = faulty
executables.{name}()
""")
    script.chmod(0o755)
    return str(script), flag


def description(name: str = 'seven_joint_arm.urdf') -> str:
    """The text of a description of the package."""
    return (Path(__file__).parent.parent / 'urdf' / name).read_text()


def send_goal(
    kind: Any, ros: Client, actions: Any, states: Any, feedback: Any = None, **goal: Any
) -> Any:
    """Send a goal of an action while states are published; its handle."""
    sent = actions.send_goal_async(
        kind.Goal(**goal),
        feedback_callback=None if feedback is None else lambda m: feedback.append(m.feedback),
    )
    ros.wait_for(sent.done, meanwhile=lambda: next(states), period=0.001)
    return sent.result()


def result_of(ros: Client, handle: Any, states: Any) -> Any:
    """The answer to a goal, while states are published."""
    got = handle.get_result_async()
    ros.wait_for(got.done, meanwhile=lambda: next(states), period=0.002)
    return got.result()
