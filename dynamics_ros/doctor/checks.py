# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a ROS graph; each finding says what is wrong and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSCompatibility, qos_check_compatible

from .graph import CLOCK, JOINT_STATE, Graph, Topic

LATE = 0.5
"""Age [s] from which states, and results computed from them, are outdated."""

EARLY = -0.05
"""Age [s] below which stamps lie in the future and come from another clock."""

COMMANDS = re.compile(r'(command|commands|cmds?|cmd_vel|joint_trajectory)$')
"""Names of topics that command a robot."""

STILL = re.compile(r'unconfigured|inactive|paused|finalized')
"""Status words of a node that sends no commands at the moment."""

REFUSED = 'refused: '
"""Prefix of status keys that count refused inputs."""


class Finding(NamedTuple):
    """Problem found in a graph.

    Attributes:
        problem: one line that names the affected object.
        advice: what to do; '' if the problem implies it.
    """

    problem: str
    advice: str = ''


CURES = (
    (
        r'robot_description',
        'start robot_state_publisher with the description, or set the parameter robot_description',
    ),
    (
        r'has no publisher',
        'start the driver or joint_state_broadcaster; if it publishes under another name, remap: '
        '-r joint_states:=NAME',
    ),
    (
        r'cannot be heard here',
        'give publisher and subscription the same type, and a reliability and durability that suit '
        '(qos_overrides of docs/interfaces.md)',
    ),
    (
        r'name joints that robot',
        'description and driver are of different robots, or of different prefixes: compare '
        '`ros2 topic echo --once` with `ros2 run dynamics_ros inspect`',
    ),
    (r'lack their positions', 'lock joints that nobody tells: locked_joints.names and .positions'),
    (r'have stopped coming', 'look at the driver: it has died, or its robot is in protective stop'),
    (r'degrees', 'joint_states are in radians and metres: convert them in the driver'),
    (
        r'no effort of|all efforts are zero|efforts do not change',
        'contacts need measured torques: have the driver report effort (docs/efforts.md)',
    ),
    (r'carry no stamp', 'have the driver set header.stamp of its joint states'),
    (
        r'linear velocity of odom',
        'publish the twist in the axes of child_frame_id: rotate it by the inverse of the pose',
    ),
    (r'twist of odom is always zero', 'use a state estimator that fills in all six components'),
    (
        r'no mass is given',
        'add <inertial> to these links: `ros2 run dynamics_ros inspect` lists them',
    ),
    (
        r'were refused',
        'the log of the node names the first ones; all reasons: `ros2 topic echo /diagnostics`',
    ),
    (
        r'no news for longer than joint_timeout',
        'whoever tells these joints has fallen silent: look at that driver; or raise joint_timeout',
    ),
    (
        r'beyond calibrated postures',
        'record these postures as well and calibrate again (docs/calibration.md)',
    ),
    (
        r'clock of joint_states',
        'a bag was played anew or a simulator was reset; else look at the clock of the driver',
    ),
    (
        r'unconfigured|inactive',
        'ros2 lifecycle set NODE configure, then activate; or the parameter autostart',
    ),
)
"""Status words and the advice for them."""


def findings(graph: Graph) -> list[Finding]:
    """Return all findings, the most fundamental first."""
    return [
        *_emptiness(graph),
        *_vanished(graph),
        *_namesakes(graph),
        *(finding for topic in _sorted(graph) for finding in _mismatches(topic, graph)),
        *_silences(graph),
        *_simulated_time(graph),
        *_clocks(graph),
        *_twice(graph),
        *_commanded_twice(graph),
    ]


def _sorted(graph: Graph) -> list[Topic]:
    return [graph.topics[name] for name in sorted(graph.topics)]


def _emptiness(graph: Graph) -> Iterator[Finding]:
    if not graph.nodes:
        yield Finding(
            f'no node runs in ROS_DOMAIN_ID={graph.domain}, as far as it can be seen from here',
            'compare ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_LOCALHOST_ONLY and '
            'RMW_IMPLEMENTATION with those of the shell that has started the nodes',
        )
    elif not graph.statuses:
        yield Finding(
            'no node of dynamics_ros tells anything on /diagnostics',
            'start them: ros2 launch dynamics_ros dynamics.launch.py; if they run, compare their '
            f'ROS_DOMAIN_ID with this one, {graph.domain}',
        )


def _vanished(graph: Graph) -> Iterator[Finding]:
    for name in sorted(set(graph.statuses) - set(graph.nodes)):
        yield Finding(
            f'{name} has ended while it was looked at',
            'the terminal of its launch says why; respawn=True of its launch file starts it again',
        )


def _namesakes(graph: Graph) -> Iterator[Finding]:
    for name, count in sorted(graph.nodes.items()):
        if count > 1:
            yield Finding(
                f'{count} nodes are named {name}: they mix outputs and share requests',
                'end all but one, or put them into namespaces: -r __ns:=/left',
            )


def _mismatches(topic: Topic, graph: Graph) -> Iterator[Finding]:
    if len(topic.types) > 1:
        pairs = sorted(
            {f'{one.node}: {one.type}' for one in (*topic.publishers, *topic.subscriptions)}
        )
        yield Finding(
            f'{topic.name} has several types: {", ".join(pairs)}',
            'nodes of different types do not hear each other: remap one of them',
        )
    reasons: dict[tuple[str, str], str] = {}
    for publisher in topic.publishers:
        for subscription in topic.subscriptions:
            if publisher.type != subscription.type:
                continue
            verdict, why = qos_check_compatible(publisher.qos, subscription.qos)
            if verdict == QoSCompatibility.ERROR:
                reasons[publisher.node, subscription.node] = why.strip(' ;').removeprefix('ERROR: ')
    for (sender, listener), why in reasons.items():
        yield Finding(
            f'{listener} cannot hear {sender} on {topic.name}: {why}',
            _match(topic.name, sender, listener, why, graph),
        )


def _match(topic: str, sender: str, listener: str, why: str, graph: Graph) -> str:
    """Return advice for incompatible quality of service settings."""
    advice = f'have {listener} ask for less, or {sender} offer more'
    policies = (
        ('reliability', 'best_effort', 'reliable'),
        ('durability', 'volatile', 'transient_local'),
    )
    for policy, less, more in policies:
        # The text has the form "Best effort publisher and reliable subscription".
        if not re.search(f'{less}|{more}'.replace('_', ' '), why, re.IGNORECASE):
            continue
        if listener in graph.statuses:
            return f'{advice}: qos_overrides.{topic}.subscription.{policy} {less} of {listener}'
        if sender in graph.statuses:
            return f'{advice}: qos_overrides.{topic}.publisher.{policy} {more} of {sender}'
    return advice


def _silences(graph: Graph) -> Iterator[Finding]:
    names_of: dict[str, list[str]] = {}
    for name, status in sorted(graph.statuses.items()):
        if status.level != DiagnosticStatus.OK and name in graph.nodes:
            # Nodes with equal names have a finding of their own.
            message = re.sub(r'; \d+ nodes are named \S+$', '', status.message)
            message += _most_refused(status)
            names_of.setdefault(message, []).append(name)
    for message, names in names_of.items():
        if message.startswith('publishing to whoever listens'):
            continue
        yield Finding(f'{", ".join(names)}: {message}', _cure(message, graph))


def _most_refused(status: DiagnosticStatus) -> str:
    """Return the most frequent reason of refusal if the status counts refusals; else ''."""
    counts = {
        value.key.removeprefix(REFUSED): int(value.value)
        for value in status.values
        if value.key.startswith(REFUSED) and value.value.isdigit()
    }
    if 'were refused' not in status.message or not any(counts.values()):
        return ''
    reason = max(counts, key=lambda name: counts[name])
    return f', mostly: {reason} ({counts[reason]})'


def _cure(message: str, graph: Graph) -> str:
    if 'has no publisher' in message and 'robot_description' not in message:
        others = [
            topic.name
            for topic in _sorted(graph)
            if topic.publishers and JOINT_STATE in topic.types and not topic.is_private
        ]
        if others:
            return f'joint states are on {", ".join(others)}: -r joint_states:={others[0]}'
    return next((cure for words, cure in CURES if re.search(words, message)), '')


def _simulated_time(graph: Graph) -> Iterator[Finding]:
    topic = graph.topics.get(CLOCK, Topic(CLOCK))
    # Only nodes with use_sim_time subscribe.
    followers = {one.node for one in topic.subscriptions} & set(graph.nodes)
    sources = {one.node for one in topic.publishers}
    if followers and not sources:
        yield Finding(
            f'{", ".join(sorted(followers))} with use_sim_time: nobody publishes {CLOCK}, so that '
            'time stands still',
            'start the simulator, or play the bag with --clock; on a robot set use_sim_time to '
            'false',
        )
    others = set(graph.statuses) & set(graph.nodes) - followers - sources
    if followers and sources and others:
        yield Finding(
            f'{", ".join(sorted(others))} without use_sim_time, which others have: '
            f'{", ".join(sorted(followers))}',
            'set use_sim_time on all nodes or none',
        )


def _clocks(graph: Graph) -> Iterator[Finding]:
    clock = '/clock' if graph.simulated else 'the clock of this machine'
    for topic in _sorted(graph):
        # A result carries the stamp of the state that it was computed from.
        if topic.age is None or JOINT_STATE not in topic.types or not _is_input(topic, graph):
            continue
        if not EARLY <= topic.age <= LATE:
            side = 'behind' if topic.age > 0.0 else 'ahead of'
            yield Finding(
                f'stamps of {topic.name} are {abs(topic.age):.3g} s {side} {clock}',
                'set use_sim_time on all nodes or none, and the clocks of all machines by chrony',
            )


def _is_input(topic: Topic, graph: Graph) -> bool:
    from_others = any(one.node not in graph.statuses for one in topic.publishers)
    return from_others and bool(topic.subscriptions)


def _twice(graph: Graph) -> Iterator[Finding]:
    for topic in _sorted(graph):
        senders = sorted({one.node for one in topic.publishers})
        if len(senders) < 2:
            continue
        if topic.name.endswith('/robot_description'):
            yield Finding(
                f'{len(senders)} nodes publish {topic.name}: {", ".join(senders)}',
                'the last one is taken: end the others, or put robots into namespaces',
            )
        made_up = [name for name in senders if 'joint_state_publisher' in name]
        if JOINT_STATE in topic.types and made_up:
            yield Finding(
                f'{", ".join(made_up)} publishes made-up states on {topic.name}, beside '
                f'{", ".join(name for name in senders if name not in made_up)}',
                'end it: the states of the robot and its own alternate',
            )


def _commanded_twice(graph: Graph) -> Iterator[Finding]:
    for topic in _sorted(graph):
        senders = sorted({one.node for one in topic.publishers if not _is_still(one.node, graph)})
        if len(senders) < 2 or not topic.subscriptions or not COMMANDS.search(topic.name):
            continue
        yield Finding(
            f'{len(senders)} nodes can command {topic.name}: {", ".join(senders)}',
            'commands of several alternate, and the robot jerks: end or deactivate all but one',
        )


def _is_still(node: str, graph: Graph) -> bool:
    status = graph.statuses.get(node)
    return status is not None and bool(STILL.search(status.message))
