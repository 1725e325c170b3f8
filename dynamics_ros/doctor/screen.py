# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Text report of a graph and its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dynamics_ros.command_line import Block
from dynamics_ros.errors import printable

from .checks import Finding
from .graph import Graph, Topic

MAX_TOPICS = 14
MAX_FINDINGS = 10
MAX_IDLE = 6
HEAD = ('  topic', 'rate', 'stamps', 'from', 'to')


def screen(graph: Graph, found: Sequence[Finding]) -> Iterator[Block]:
    """Yield the lines of the report, and a table of topics."""
    others = sorted(set(graph.nodes) - set(graph.statuses))
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
    if others:
        yield printable(f'  others: {", ".join(others)}')
    if graph.nodes:
        yield ''
    published = [topic for topic in _by_interest(graph) if topic.publishers]
    idle = [topic for topic in published if _is_idle(topic)]
    shown = [topic for topic in published if not _is_idle(topic)]
    if shown:
        yield [HEAD, *map(_row, shown[:MAX_TOPICS])]
        if len(shown) > MAX_TOPICS:
            yield f'  ... and {len(shown) - MAX_TOPICS} topics more'
    yield from map(printable, _unheard(idle))
    if published:
        yield ''
    if not found:
        yield 'nothing is wrong'
    for finding in found[:MAX_FINDINGS]:
        yield f'! {printable(finding.problem)}'
        if finding.advice:
            yield f'    {finding.advice}'
    if len(found) > MAX_FINDINGS:
        yield f'... and {len(found) - MAX_FINDINGS} more'


def _by_interest(graph: Graph) -> list[Topic]:
    """Return observed topics, inputs and outputs first, without those that every node has."""
    usual = ('/rosout', '/parameter_events')
    topics = [topic for topic in graph.topics.values() if topic.name not in usual]
    return sorted(topics, key=lambda topic: (not topic.listened, topic.name))


def _is_idle(topic: Topic) -> bool:
    return topic.is_private and not topic.listened and not topic.subscriptions


def _unheard(topics: Sequence[Topic]) -> Iterator[str]:
    """Yield one line per node with its outputs that have no subscription."""
    names_of: dict[str, list[str]] = {}
    for topic in topics:
        node = next(one.node for one in topic.publishers if topic.name.startswith(f'{one.node}/'))
        names_of.setdefault(node, []).append(topic.name.removeprefix(f'{node}/'))
    for node, names in list(names_of.items())[:MAX_IDLE]:
        # Those of actions and of lifecycles come last: a line may be cut.
        names.sort(key=lambda name: '/_action/' in name or name == 'transition_event')
        yield f'  nobody listens to {node}/: {", ".join(names)}'
    if len(names_of) > MAX_IDLE:
        yield f'  ... nor to outputs of {len(names_of) - MAX_IDLE} nodes more'


def _row(topic: Topic) -> tuple[str, ...]:
    age = '' if topic.age is None else f'{1e3 * topic.age:.1f} ms old'
    if topic.age is not None and abs(topic.age) >= 1.0:
        age = f'{topic.age:.4g} s old'
    nodes = [_names(endpoints) for endpoints in (topic.publishers, topic.subscriptions)]
    return tuple(map(printable, (f'  {topic.name}', _rate(topic), age, *nodes)))


def _rate(topic: Topic) -> str:
    if not topic.listened:
        return 'nobody listens' if not topic.subscriptions else ''
    if not topic.count:
        return 'silent'
    return f'{topic.rate:.4g} Hz' if topic.rate else f'{topic.count} message'


def _names(endpoints: Sequence[object]) -> str:
    names = sorted({getattr(one, 'node', '') for one in endpoints})
    return ', '.join(names[:2]) + (f' +{len(names) - 2}' if len(names) > 2 else '')
