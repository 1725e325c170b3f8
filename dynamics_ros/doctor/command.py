# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""doctor: prints nodes and topic rates of the ROS graph, its problems, and remedies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from rclpy.utilities import remove_ros_args

from dynamics_ros.command_line import INTERRUPTED, Block, finite, show
from dynamics_ros.errors import DynamicsRosError, printable
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.wire.description_topic import published_description

from .checks import Finding, findings
from .graph import Graph, Topic, observe

SECONDS = 5.0
"""Observation time [s], long enough for discovery and for statuses at 1 Hz."""

MAX_TOPICS, MAX_FINDINGS = 14, 10
HEAD = ('  topic', 'rate', 'stamps', 'from', 'to')


def main(arguments: Sequence[str] | None = None) -> int:
    """Observe the graph and print the report; return 1 if something is wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='doctor', description=__doc__)
    duration = 'duration of the observation [s] (default: %(default)s)'
    parser.add_argument('--seconds', type=finite, default=SECONDS, help=duration)
    parser.add_argument(
        '--topic',
        metavar='NAME',
        help='compare joint states with the description on a topic, such as /robot_description',
    )
    try:
        own = remove_ros_args(given)
    except Exception as error:  # the class of this error differs between versions of rclpy
        problem, _, _ = str(error).partition(' Error: ')
        print(f'doctor: {problem} Expected --ros-args as ROS documents them', file=sys.stderr)
        return 2
    options = parser.parse_args(own)
    if not 0.5 <= options.seconds <= 600.0:
        parser.error(f'--seconds: {options.seconds:g} s given, 0.5 to 600 s expected')
    print(f'looking for {options.seconds:g} s ...', file=sys.stderr, flush=True)
    try:
        described = () if options.topic is None else _joints(published_description(options.topic))
        graph = observe(options.seconds, given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DynamicsRosError, RuntimeError) as error:
        print(f'doctor: {error}', file=sys.stderr)
        return 2
    graph.described = described
    found = findings(graph)
    show(screen(graph, found))
    return int(bool(found))


def _joints(description: str) -> tuple[str, ...]:
    """Return the joints that joint states have to report."""
    return tuple(
        joint.name
        for joint in parse_urdf(description).joints
        if joint.type in ('revolute', 'continuous', 'prismatic') and joint.mimic is None
    )


def screen(graph: Graph, found: Sequence[Finding]) -> Iterator[Block]:
    """Yield the lines of the report, and a table of topics."""
    yield (
        f'ROS_DOMAIN_ID={graph.domain}, looked at for {graph.seconds:g} s: '
        f'{sum(graph.nodes.values())} nodes, {len(graph.topics)} topics'
        f'{", /clock is published" if graph.simulated else ""}'
    )
    yield ''
    for name, status in sorted(graph.statuses.items()):
        count = graph.nodes[name]
        gone = '  (gone)' if not count else f'  (x{count})' if count > 1 else ''
        slow = any(x.key == 'kernel calls' and x.value == 'ctypes' for x in status.values)
        calls = '  (kernels called through ctypes: slower)' if slow else ''
        yield printable(f'  {name}{gone}  {status.hardware_id}  {status.message}{calls}')
    if others := sorted(set(graph.nodes) - set(graph.statuses)):
        yield printable(f'  others: {", ".join(others)}')
    if graph.nodes:
        yield ''
    usual = ('/rosout', '/parameter_events')  # every node has these
    published = [x for x in graph.topics.values() if x.publishers and x.name not in usual]
    published.sort(key=lambda topic: (not topic.listened, topic.name))
    unheard: dict[str, list[str]] = {}
    rows: list[tuple[str, ...]] = [HEAD]
    for topic in published:
        if topic.is_private and not topic.listened and not topic.subscriptions:
            node = next(x for x in topic.senders if topic.name.startswith(f'{x}/'))
            unheard.setdefault(node, []).append(topic.name.removeprefix(f'{node}/'))
        else:
            rows.append(_row(topic))
    if rows[1:]:
        yield rows[: MAX_TOPICS + 1]
    if len(rows) > MAX_TOPICS + 1:
        yield f'  ... and {len(rows) - MAX_TOPICS - 1} topics more'
    for node, names in unheard.items():
        yield printable(f'  nobody listens to {node}/: {", ".join(names)}')
    yield from ('',) if published else ()
    yield from () if found else ('nothing is wrong',)
    for finding in found[:MAX_FINDINGS]:
        yield f'! {printable(finding.problem)}'
        yield from (f'    {finding.advice}',) if finding.advice else ()
    if len(found) > MAX_FINDINGS:
        yield f'... and {len(found) - MAX_FINDINGS} more'


def _row(topic: Topic) -> tuple[str, ...]:
    rate = f'{topic.rate:.4g} Hz' if topic.rate else '1 message'
    if not topic.arrivals:
        rate = 'silent' if topic.listened else '' if topic.subscriptions else 'nobody listens'
    age = '' if topic.age is None else f'{1e3 * topic.age:.1f} ms old'
    if topic.age is not None and abs(topic.age) >= 1.0:
        age = f'{topic.age:.4g} s old'
    ends = topic.senders, sorted({one.node for one in topic.subscriptions})
    cells = [', '.join(x[:2]) + (f' +{len(x) - 2}' if len(x) > 2 else '') for x in ends]
    return tuple(map(printable, (f'  {topic.name}', rate, age, *cells)))
