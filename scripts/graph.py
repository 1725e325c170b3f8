# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands of ros2 for topics, services, actions, parameters and managed nodes, by rclpy alone."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

# ruff: noqa: E402 - the imports may be interrupted
signal.signal(signal.SIGINT, signal.SIG_DFL)

import numpy as np
import rclpy
import yaml
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.action import ActionClient
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.parameter import Parameter, get_parameter_value, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

WAIT = 10.0
"""Longest time until a topic, service or action is discovered [s]."""

TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'cleanup': Transition.TRANSITION_CLEANUP,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
    'shutdown': Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
}


class RefusedError(Exception):
    """A command that cannot be carried out, with the reason."""


def parser() -> argparse.ArgumentParser:
    """Words and options, as those of ros2."""
    commands = argparse.ArgumentParser(prog='scripts/ros', description=__doc__)
    words = commands.add_subparsers(required=True, metavar='topic|service|action|param|lifecycle')

    def command(run: Callable[..., Any], *arguments: str, **options: Any) -> None:
        word, verb = run.__name__.split('_', 1)
        if word not in words.choices:
            words.add_parser(word).add_subparsers(required=True, dest='verb')
        verbs = words.choices[word]._subparsers._group_actions[0]
        one = verbs.add_parser(verb, help=run.__doc__)
        for name in arguments:
            optional = name.endswith('?')
            one.add_argument(name.rstrip('?'), nargs='?' if optional else None)
        for name, kind in options.items():
            action = {'action': 'store_true'} if kind is bool else {'type': kind}
            flags = [f'--{name.replace("_", "-")}', *(['-t'] if name == 'show_types' else [])]
            one.add_argument(*flags, **action)
        one.set_defaults(run=run)

    command(topic_list, show_types=bool)
    command(topic_echo, 'topic', 'type?', once=bool, field=str)
    command(topic_hz, 'topic', window=int)
    command(service_list, show_types=bool)
    command(service_call, 'service', 'type', 'values?')
    command(action_send_goal, 'action', 'type', 'goal', feedback=bool)
    command(param_list, 'node')
    command(param_get, 'node', 'name')
    command(param_set, 'node', 'name', 'value')
    command(lifecycle_set, 'node', 'transition')
    return commands


def topic_list(node: Node, show_types: bool) -> None:
    """List the topics of the graph."""
    _discovered(node)
    _names(node.get_topic_names_and_types(), show_types)


def topic_echo(node: Node, topic: str, type: str | None, once: bool, field: str | None) -> None:
    """Print messages as YAML."""
    for message in _messages(node, topic, type):
        value = message
        for part in field.split('.') if field else ():
            if not hasattr(value, part):
                fields = ', '.join(getattr(value, 'get_fields_and_field_types', dict)())
                raise RefusedError(f'there is no field {part}; there are: {fields or "none"}')
            value = getattr(value, part)
        print(yaml.safe_dump(plain(value), sort_keys=False).removesuffix('...\n'), end='')
        print('---', flush=True)
        if once:
            return


def topic_hz(node: Node, topic: str, window: int | None) -> None:
    """Print the rate of messages once a second."""
    times: list[float] = []
    printed = time.monotonic()
    for _ in _messages(node, topic, None, raw=True):
        now = time.monotonic()
        times = [*times[-(window or 10000) :], now]
        if now - printed > 1.0 and len(times) > 1:
            steps = np.diff(times)
            print(
                f'average rate: {1.0 / steps.mean():.3f}\n\tmin: {steps.min():.3f}s max: '
                f'{steps.max():.3f}s std dev: {steps.std():.5f}s window: {len(times)}',
                flush=True,
            )
            printed = now


def service_list(node: Node, show_types: bool) -> None:
    """List the services of the graph."""
    _discovered(node)
    _names(node.get_service_names_and_types(), show_types)


def service_call(node: Node, service: str, type: str, values: str | None) -> None:
    """Call a service and print its response."""
    kind = interface(type, 'srv')
    request = filled(kind.Request(), values)
    client = node.create_client(kind, service)
    _available(client.wait_for_service, f'service {service}')
    print(f'requester: making request: {request}\n', flush=True)
    print(f'response:\n{_result(node, client.call_async(request))}')


def action_send_goal(node: Node, action: str, type: str, goal: str, feedback: bool) -> None:
    """Send a goal, and print its feedback and its result."""
    kind = interface(type, 'action')
    wanted = filled(kind.Goal(), goal)
    client = ActionClient(node, kind, action)
    _available(client.wait_for_server, f'action {action}')

    def shown(message: Any) -> None:
        print(f'Feedback:\n{_yaml(message.feedback)}', flush=True)

    sent = client.send_goal_async(wanted, feedback_callback=shown if feedback else None)
    handle = _result(node, sent)
    if not handle.accepted:
        raise RefusedError('the goal was rejected')
    print('Goal accepted', flush=True)
    try:
        result = _result(node, handle.get_result_async())
    except KeyboardInterrupt:
        _result(node, handle.cancel_goal_async())
        raise
    names = {4: 'SUCCEEDED', 5: 'CANCELED', 6: 'ABORTED'}
    print(f'Result:\n{_yaml(result.result)}')
    print(f'Goal finished with status: {names.get(result.status, result.status)}')


def param_list(node: Node, node_name: str) -> None:
    """List the parameters of a node."""
    listed = _result(node, _parameters(node, node_name).list_parameters())
    print('\n'.join(f'  {one}' for one in sorted(listed.result.names)))


def param_get(node: Node, node_name: str, name: str) -> None:
    """Print a parameter of a node."""
    values = _result(node, _parameters(node, node_name).get_parameters([name])).values
    value = parameter_value_to_python(values[0]) if values else None
    if value is None:
        raise RefusedError(f'{node_name} has no parameter {name}')
    single = isinstance(value, (str, bool, int, float))
    kinds = {bool: 'Boolean', int: 'Integer', float: 'Double', str: 'String'}
    kind = kinds.get(type(value if single else next(iter(value), '')), '')
    print(f'{kind} value is: {value}' if single else f'{kind} values are: {list(value)}')


def param_set(node: Node, node_name: str, name: str, value: str) -> None:
    """Set a parameter of a node."""
    parameter = Parameter(name, value=parameter_value_to_python(get_parameter_value(value)))
    client = _parameters(node, node_name)
    (result,) = _result(node, client.set_parameters([parameter])).results
    if not result.successful:
        raise RefusedError(f'setting the parameter failed: {result.reason}')
    print('Set parameter successful')


def lifecycle_set(node: Node, node_name: str, transition: str) -> None:
    """Start a transition of a managed node."""
    if transition not in TRANSITIONS:
        raise RefusedError(
            f'there is no transition {transition}; there are: {", ".join(TRANSITIONS)}'
        )
    client = node.create_client(ChangeState, f'{node_name}/change_state')
    _available(client.wait_for_service, f'managed node {node_name}')
    request = ChangeState.Request(transition=Transition(id=TRANSITIONS[transition]))
    if not _result(node, client.call_async(request)).success:
        raise RefusedError(
            f'{node_name} refused the transition {transition}; its log has the reason'
        )
    print('Transitioning successful')


def interface(text: str, room: str) -> Any:
    """Return the class of an interface by its name, such as std_srvs/srv/Trigger."""
    package, _, name = text.replace(f'/{room}/', '/').partition('/')
    try:
        return getattr(import_module(f'{package}.{room}'), name)
    except (ImportError, AttributeError):
        raise RefusedError(f'there is no {room} {text}; its package may not be sourced') from None


def filled(message: Any, text: str | None) -> Any:
    """Return a message with the values of a YAML text."""
    try:
        values = yaml.safe_load(text or '{}')
    except yaml.YAMLError as error:
        raise RefusedError(f'no YAML: {" ".join(str(error).split())}') from None
    _fill(message, values)
    return message


def _fill(message: Any, values: Any) -> None:
    kinds = message.get_fields_and_field_types()
    if not isinstance(values, dict):
        raise RefusedError(f'{values!r} for a message; expected fields: {", ".join(kinds)}')
    for name, value in values.items():
        if name not in kinds:
            raise RefusedError(f'there is no field {name}; there are: {", ".join(kinds)}')
        kind = kinds[name].removeprefix('sequence<').partition('>')[0].partition('[')[0]
        if '/' in kind and isinstance(value, list):
            made = interface(kind.partition(',')[0], 'msg')
            value = [filled(made(), yaml.safe_dump(one)) for one in value]
        elif '/' in kind:
            _fill(getattr(message, name), value)
            continue
        try:
            if kind.split(',')[0] in ('double', 'float'):
                value = [float(x) for x in value] if isinstance(value, list) else float(value)
            setattr(message, name, value)
        except (AssertionError, TypeError, ValueError):
            raise RefusedError(f'{name}: {value!r}; expected {kinds[name]}') from None


def plain(value: Any) -> Any:
    """Return a message, or a value of one, as dicts, lists, numbers and texts."""
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, (bytes, np.generic)):
        return value[0] if isinstance(value, bytes) else value.item()
    if isinstance(value, (str, bool, int, float)):
        return value
    return [plain(one) for one in value]


def _yaml(message: Any) -> str:
    return ''.join(
        f'    {x}\n' for x in yaml.safe_dump(plain(message), sort_keys=False).splitlines()
    )


def _discovered(node: Node) -> None:
    """Wait until others are seen and the graph has not changed for 0.7 s; at most ``WAIT``."""
    own = {(node.get_name(), node.get_namespace())}
    known, since, end = 0, time.monotonic(), time.monotonic() + WAIT
    while time.monotonic() < end and (known == 0 or time.monotonic() - since < 0.7):
        rclpy.spin_once(node, timeout_sec=0.05)
        others = set(node.get_node_names_and_namespaces()) - own
        count = len(node.get_topic_names_and_types()) if others else 0
        if count != known:
            known, since = count, time.monotonic()


def _names(pairs: list[tuple[str, list[str]]], show_types: bool) -> None:
    for name, types in sorted(pairs):
        print(f'{name} [{", ".join(types)}]' if show_types else name)


def _messages(node: Node, topic: str, type: str | None, raw: bool = False) -> Iterator[Any]:
    """Messages of a topic, with the quality of service that its publishers offer."""
    name = topic if topic.startswith('/') else f'/{topic}'
    end = time.monotonic() + WAIT
    publishers = node.get_publishers_info_by_topic(name)
    while not publishers and (type is None or time.monotonic() < end - WAIT + 1.0):
        if time.monotonic() > end:
            raise RefusedError(
                f'{name} has no publisher; `scripts/ros topic list` lists all topics'
            )
        rclpy.spin_once(node, timeout_sec=0.1)
        publishers = node.get_publishers_info_by_topic(name)
    offered = [one.qos_profile for one in publishers]
    qos = QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.RELIABLE
        if offered and all(x.reliability == ReliabilityPolicy.RELIABLE for x in offered)
        else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if offered and all(x.durability == DurabilityPolicy.TRANSIENT_LOCAL for x in offered)
        else DurabilityPolicy.VOLATILE,
    )
    kind = interface(type or publishers[0].topic_type, 'msg')
    received: list[Any] = []
    node.create_subscription(kind, name, received.append, qos, raw=raw)
    while True:
        rclpy.spin_once(node, timeout_sec=1.0)
        yield from received
        received.clear()


def _parameters(node: Node, name: str) -> AsyncParameterClient:
    client = AsyncParameterClient(node, name)
    _available(client.wait_for_services, f'node {name}')
    return client


def _available(wait: Callable[..., bool], what: str) -> None:
    if not wait(timeout_sec=WAIT):
        raise RefusedError(f'there is no {what}')


def _result(node: Node, future: Any) -> Any:
    rclpy.spin_until_future_complete(node, future)
    return future.result()


def main() -> int:
    """Run a command; return 1 with the reason if it is refused."""
    options = vars(parser().parse_args())
    run = options.pop('run')
    options.pop('verb')
    options = {('node_name' if name == 'node' else name): x for name, x in options.items()}
    rclpy.init()
    node = Node('ros', namespace='/', start_parameter_services=False)
    try:
        run(node, **options)
    except RefusedError as reason:
        print(f'ros: {reason}', file=sys.stderr)
        return 1
    except (KeyboardInterrupt, BrokenPipeError, ExternalShutdownException):
        return 130
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
