# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a ROS graph; each finding says what is wrong and how to fix it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSCompatibility, qos_check_compatible

from dynamics_ros.reasons import ACTION, KEY, Reason

from .contradictions import differing_joints, twist_fault
from .graph import CLOCK, JOINT_STATE, Graph, Topic

LATE = 0.5
"""Age [s] from which states, and results computed from them, are outdated."""

EARLY = -0.05
"""Age [s] below which stamps lie in the future and come from another clock."""

COMMANDS = re.compile(r'(command|commands|cmds?|cmd_vel|joint_trajectory)$')
"""Names of topics that command a robot."""

SLOW_PACE, SLOW_RATE = 0.95, 0.9
"""A publisher is too slow if its stamps advance by less than this share of the clock, or if its
rate is less than this share of that of its stamps."""

MAX_INTERVALS = 2.0
"""Age of stamps in intervals between messages up to which the publisher is slow, not its clock."""

MIN_ELAPSED = 0.5
"""Shortest time over which the advance of stamps is judged [s]."""

MAX_DELAY = 600.0
"""Age above which stamps are those of another clock or of a recording, not of a slow publisher
[s]."""

EFFORTS = 'contacts need measured torques: have the driver report effort (docs/efforts.md)'
ACTIVATE = 'ros2 lifecycle set NODE configure, then activate; or the parameter autostart'


class Finding(NamedTuple):
    """Problem found in a graph.

    Attributes:
        problem: one line that names the affected object.
        advice: what to do; '' if the problem implies it.
    """

    problem: str
    advice: str = ''


CURES = {
    Reason.WAITING_FOR_DESCRIPTION: (
        'start robot_state_publisher with the description, or give robot_description_file at start'
    ),
    Reason.NO_PUBLISHER: (
        'start the driver or joint_state_broadcaster; if it publishes under another name, remap: '
        '-r joint_states:=NAME'
    ),
    Reason.UNKNOWN_JOINTS: (
        'description and driver are of different robots, or of different prefixes: compare '
        '`ros2 topic echo --once` with `ros2 run dynamics_ros inspect`'
    ),
    Reason.JOINTS_MISSING: 'lock joints without state: locked_joints.names and .positions',
    Reason.JOINTS_UNSUPPORTED: 'lock these joints: locked_joints.names and .positions',
    Reason.POSITION_NOT_FINITE: (
        'look at the driver or the encoders of these joints: their positions are NaN or infinite'
    ),
    Reason.STATES_STOPPED: 'look at the driver: it has died, or its robot is in protective stop',
    Reason.STATES_FROZEN: 'look at the driver: it repeats the same joint state',
    Reason.POSITIONS_BEYOND_LIMITS: (
        'joint_states are in radians and metres: convert degrees or millimetres in the driver'
    ),
    Reason.LOOP_OPEN: (
        'calibrate the encoders of the joints of the loop, or correct the lengths of its links in '
        'the description; loop_tolerance bounds the gap'
    ),
    Reason.EFFORT_MISSING: EFFORTS,
    Reason.EFFORTS_INVALID: EFFORTS,
    Reason.STAMPS_OLD: 'look at the clock of the driver, and for a second publisher',
    Reason.STAMP_MISSING: 'have the driver set header.stamp of its joint states',
    Reason.MASSES_MISSING: (
        'add <inertial> to these links: `ros2 run dynamics_ros inspect` lists them'
    ),
    Reason.MESSAGES_REFUSED: (
        'the log of the node names the first ones; all reasons: `ros2 topic echo /diagnostics`'
    ),
    Reason.JOINTS_STALE: (
        'the driver of these joints has stopped reporting them: look at it; or raise joint_timeout'
    ),
    Reason.WRENCH_STOPPED: 'look at the driver of the sensor, and at admittance.wrench_topic',
    Reason.WRENCH_FROZEN: 'look at the driver of the sensor: it repeats the same wrench',
    Reason.CONTACT_UNSTABLE: 'raise admittance.damping: the log names what it stands',
    Reason.UNCONFIGURED: ACTIVATE,
    Reason.INACTIVE: ACTIVATE,
}
"""Advice for the reasons that nodes report."""


def findings(graph: Graph) -> list[Finding]:
    """Return all findings, the most fundamental first."""
    topics = [graph.topics[name] for name in sorted(graph.topics)]
    states = [x for x in topics if JOINT_STATE in x.types and not x.is_private]
    return [
        *_of_nodes(graph),
        *(finding for topic in topics for finding in _of_connections(topic, graph)),
        *_of_statuses(graph, [x.name for x in states if x.publishers]),
        *_of_descriptions(graph, [x for x in states if x.joints]),
        *_of_simulated_time(graph),
        *(finding for topic in topics for finding in _of_stamps(topic, graph)),
        *(finding for topic in topics for finding in _of_several_senders(topic, graph)),
    ]


def _of_nodes(graph: Graph) -> Iterator[Finding]:
    if not graph.nodes:
        yield Finding(
            f'no node runs in ROS_DOMAIN_ID={graph.domain}, as far as it can be seen from here',
            'compare ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_LOCALHOST_ONLY and '
            'RMW_IMPLEMENTATION with those of the shell that has started the nodes',
        )
    elif not graph.statuses:
        yield Finding(
            'no node of dynamics_ros publishes /diagnostics',
            'start them: ros2 launch dynamics_ros dynamics.launch.py; if they run, compare their '
            f'ROS_DOMAIN_ID with this one, {graph.domain}',
        )
    for name in sorted(set(graph.statuses) - set(graph.nodes)):
        yield Finding(
            f'{name} has ended while it was looked at',
            'the terminal of its launch says why; respawn=True of its launch file starts it again',
        )
    for name, count in sorted(graph.nodes.items()):
        if count > 1:
            yield Finding(
                f'{count} nodes are named {name}: they mix outputs and share requests',
                'end all but one, or put them into namespaces: -r __ns:=/left',
            )


def _of_connections(topic: Topic, graph: Graph) -> Iterator[Finding]:
    if len(topic.types) > 1:
        pairs = {f'{one.node}: {one.type}' for one in (*topic.publishers, *topic.subscriptions)}
        yield Finding(
            f'{topic.name} has several types: {", ".join(sorted(pairs))}',
            'nodes of different types do not hear each other: remap one of them',
        )
    for publisher, subscription in product(topic.publishers, topic.subscriptions):
        verdict, why = qos_check_compatible(publisher.qos, subscription.qos)
        if publisher.type == subscription.type and verdict == QoSCompatibility.ERROR:
            sender, listener = publisher.node, subscription.node
            text = why.strip(' ;').removeprefix('ERROR: ')
            ours = not graph.statuses.keys().isdisjoint((sender, listener))
            where = ' (qos_overrides of docs/interfaces.md)' if ours else ''
            yield Finding(
                f'{listener} cannot hear {sender} on {topic.name}: {text}',
                f'have {listener} ask for less, or {sender} offer more{where}',
            )


def _of_statuses(graph: Graph, reported: Sequence[str]) -> Iterator[Finding]:
    """Yield what nodes report; joint states are ``reported`` on topics with these names."""
    names_of: dict[tuple[str, str], list[str]] = {}
    for name, status in sorted(graph.statuses.items()):
        if status.level != DiagnosticStatus.OK and name in graph.nodes:
            reason = _value(status, KEY)
            names_of.setdefault((status.message, reason), []).append(name)
    cures = {reason.value: cure for reason, cure in CURES.items()}
    if reported:
        cures[Reason.NO_PUBLISHER.value] = (
            f'joint states are on {", ".join(reported)}: -r joint_states:={reported[0]}'
        )
    for (message, reason), names in names_of.items():
        yield Finding(f'{", ".join(names)}: {message}', cures.get(reason, ''))


def _value(status: DiagnosticStatus | None, key: str, default: str = '') -> str:
    values = () if status is None else status.values
    return next((str(x.value) for x in values if x.key == key), default)


def _of_descriptions(graph: Graph, topics: Sequence[Topic]) -> Iterator[Finding]:
    """Yield findings about joints of the description that no driver reports on the topics."""
    names = ', '.join(topic.name for topic in topics)
    reported = {name for topic in topics for name in topic.joints}
    missing = [name for name in graph.described if name not in reported]
    if missing and not names:
        problem = 'the description has joints, and nobody publishes joint states'
        yield Finding(problem, 'start the driver or joint_state_broadcaster')
    elif missing and len(missing) == len(graph.described):
        problem = f'{names} has no joint of the description but {", ".join(sorted(reported))}'
        yield Finding(problem, CURES[Reason.UNKNOWN_JOINTS])
    elif missing:
        problem = f'joints of the description that {names} lacks: {", ".join(missing)}'
        yield Finding(problem, CURES[Reason.JOINTS_MISSING])


def _of_simulated_time(graph: Graph) -> Iterator[Finding]:
    topic = graph.topics.get(CLOCK, Topic(CLOCK))
    # Only nodes with use_sim_time subscribe.
    followers = {one.node for one in topic.subscriptions} & set(graph.nodes)
    others = set(graph.statuses) & set(graph.nodes) - followers - set(topic.senders)
    if followers and not topic.senders:
        yield Finding(
            f'{", ".join(sorted(followers))} with use_sim_time: nobody publishes {CLOCK}, so that '
            'time stands still',
            'start the simulator, or play the bag with --clock; on a robot set use_sim_time to '
            'false',
        )
    elif followers and others:
        yield Finding(
            f'{", ".join(sorted(others))} without use_sim_time, which others have: '
            f'{", ".join(sorted(followers))}',
            'set use_sim_time on all nodes or none',
        )


def _of_stamps(topic: Topic, graph: Graph) -> Iterator[Finding]:
    # A result carries the stamp of the state that it was computed from.
    if topic.age is not None and _is_input(topic, graph) and not EARLY <= topic.age <= LATE:
        clock = '/clock' if graph.simulated else 'the clock of this machine'
        side = 'behind' if topic.age > 0.0 else 'ahead of'
        problem = f'stamps of {topic.name} are {abs(topic.age):.3g} s {side} {clock}'
        advice = 'set use_sim_time on all nodes or none, and the clocks of all machines by chrony'
        if _is_slow(topic):
            problem += f', at {topic.rate:.3g} Hz'
            advice = (
                f'{", ".join(topic.senders)} is too slow: rate and stamps are late together; lower '
                'its rate or the load of its machine'
            )
        yield Finding(problem, advice)


def _is_input(topic: Topic, graph: Graph) -> bool:
    """Whether these are joint states of a driver with subscribers."""
    from_others = not graph.statuses.keys() >= set(topic.senders)
    return JOINT_STATE in topic.types and bool(topic.subscriptions) and from_others


def _is_slow(topic: Topic) -> bool:
    """Whether late stamps come from a publisher that is too slow rather than from its clock."""
    if topic.age is None or not topic.rate or not 0.0 < topic.age < MAX_DELAY:
        return False
    _, now, stamps = np.array([x for x in topic.arrivals if math.isfinite(x[2])]).T
    steps = np.diff(stamps)
    advancing, span = steps[steps > 0.0], max(1, len(stamps) // 8 * 2)
    if advancing.size:
        # In most parts of an even number of messages: a clock that is set, or differs from that of
        # a second publisher, shows in few of them.
        behind = stamps[span:] - stamps[:-span] < SLOW_PACE * (now[span:] - now[:-span])
        if now[-1] - now[0] > MIN_ELAPSED and float(behind.mean()) > 0.5:
            return True
        step = float(np.median(advancing))
        if len(topic.senders) == 1 and topic.rate * step < SLOW_RATE:
            return True
    return topic.age * topic.rate <= MAX_INTERVALS


def _of_several_senders(topic: Topic, graph: Graph) -> Iterator[Finding]:
    """Yield findings about nodes that publish the same, and publishers that are contradictory."""
    name, senders = topic.name, topic.senders
    if name.endswith('/robot_description') and len(senders) > 1:
        yield Finding(
            f'{len(senders)} nodes publish {name}: {", ".join(senders)}',
            'the last one is taken: end the others, or put robots into namespaces',
        )
    if JOINT_STATE in topic.types:
        made_up = [node for node in senders if 'joint_state_publisher' in node]
        if made_up and len(senders) > 1:
            others = ', '.join(node for node in senders if node not in made_up)
            yield Finding(
                f'{", ".join(made_up)} publishes made-up states on {name}, beside {others}',
                'end it: the states of the robot and its own alternate',
            )
        for a, b, joints in differing_joints(topic):
            yield Finding(
                f'{a} and {b} report different positions of {", ".join(joints)} on {name}',
                'the states of both alternate: end one, or have one alone report these joints',
            )
    elif fault := twist_fault(topic):
        yield Finding(
            f'odometry of {topic.publishers[0].node} on {name}: {fault}',
            'correct its publisher: a twist is in the axes of child_frame_id, in m/s and rad/s',
        )
    statuses = {node: graph.statuses.get(node) for node in senders}
    active = [
        node
        for node, status in statuses.items()
        if _value(status, 'lifecycle', 'active') == 'active'
        and _value(status, ACTION) != Reason.PAUSED.value
    ]
    if len(active) > 1 and topic.subscriptions and COMMANDS.search(name):
        yield Finding(
            f'{len(active)} nodes can command {name}: {", ".join(active)}',
            'commands of several alternate, and the robot jerks: end or deactivate all but one',
        )
