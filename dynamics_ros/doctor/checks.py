# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of a ROS graph; each finding says what is wrong and how to fix it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
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

QOS = ' (qos_overrides of docs/interfaces.md)'
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
    return [
        *_emptiness(graph),
        *_vanished(graph),
        *_namesakes(graph),
        *(finding for topic in _sorted(graph) for finding in _mismatches(topic, graph)),
        *_silences(graph),
        *_unreported(graph),
        *_simulated_time(graph),
        *_clocks(graph),
        *_twice(graph),
        *_contradictions(graph),
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
            'no node of dynamics_ros publishes /diagnostics',
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
    for publisher in topic.publishers:
        for subscription in topic.subscriptions:
            if publisher.type != subscription.type:
                continue
            verdict, why = qos_check_compatible(publisher.qos, subscription.qos)
            if verdict == QoSCompatibility.ERROR:
                text = why.strip(' ;').removeprefix('ERROR: ')
                sender, listener = publisher.node, subscription.node
                ours = not graph.statuses.keys().isdisjoint((sender, listener))
                yield Finding(
                    f'{listener} cannot hear {sender} on {topic.name}: {text}',
                    f'have {listener} ask for less, or {sender} offer more' + QOS * ours,
                )


def _silences(graph: Graph) -> Iterator[Finding]:
    names_of: dict[tuple[str, str], list[str]] = {}
    for name, status in sorted(graph.statuses.items()):
        if status.level != DiagnosticStatus.OK and name in graph.nodes:
            reason = _values(status).get(KEY, '')
            names_of.setdefault((status.message, reason), []).append(name)
    for (message, reason), names in names_of.items():
        yield Finding(f'{", ".join(names)}: {message}', _cure(reason, graph))


def _values(status: DiagnosticStatus) -> dict[str, str]:
    return {value.key: value.value for value in status.values}


def _cure(reason: str, graph: Graph) -> str:
    others = [topic.name for topic in _joint_states(graph) if topic.publishers]
    if reason == Reason.NO_PUBLISHER and others:
        return f'joint states are on {", ".join(others)}: -r joint_states:={others[0]}'
    return next((cure for each, cure in CURES.items() if each == reason), '')


def _joint_states(graph: Graph) -> list[Topic]:
    """Topics of joint states that are no outputs."""
    return [x for x in _sorted(graph) if JOINT_STATE in x.types and not x.is_private]


def _unreported(graph: Graph) -> Iterator[Finding]:
    """Yield findings about joints of the description that no driver reports."""
    topics = [topic for topic in _joint_states(graph) if topic.joints]
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
        if EARLY <= topic.age <= LATE:
            continue
        side = 'behind' if topic.age > 0.0 else 'ahead of'
        problem = f'stamps of {topic.name} are {abs(topic.age):.3g} s {side} {clock}'
        advice = 'set use_sim_time on all nodes or none, and the clocks of all machines by chrony'
        if _is_slow(topic):
            sources = ', '.join(sorted({one.node for one in topic.publishers}))
            problem += f', at {topic.rate:.3g} Hz'
            advice = (
                f'{sources} is too slow: rate and stamps are late together; lower its rate or the '
                'load of its machine'
            )
        yield Finding(problem, advice)


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
        alone = len({one.node for one in topic.publishers}) == 1
        if alone and topic.rate * float(np.median(advancing)) < SLOW_RATE:
            return True
    return topic.age * topic.rate <= MAX_INTERVALS


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


def _contradictions(graph: Graph) -> Iterator[Finding]:
    for topic in _sorted(graph):
        if JOINT_STATE in topic.types:
            for a, b, joints in differing_joints(topic):
                names = ', '.join(joints)
                yield Finding(
                    f'{a} and {b} report different positions of {names} on {topic.name}',
                    'the states of both alternate: end one, or have one alone report these joints',
                )
        elif fault := twist_fault(topic):
            yield Finding(
                f'odometry of {topic.publishers[0].node} on {topic.name}: {fault}',
                'correct its publisher: a twist is in the axes of child_frame_id, in m/s and rad/s',
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
    """Whether a node sends no commands at the moment, by its status."""
    status = graph.statuses.get(node)
    values = {} if status is None else _values(status)
    return values.get('lifecycle', 'active') != 'active' or values.get(ACTION) == Reason.PAUSED
