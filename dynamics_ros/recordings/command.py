"""estimate_bag: the estimators of contact_node over a rosbag2, into another one and a plot."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.settings import declared, meant, undeclared

from .bag import Recording, RecordingError, RecordingWriter
from .estimates import Estimates, Messages, Summary, Topics
from .estimators import EstimatorFactory
from .plot import plot
from .settings import read_parameters, settings_of

JOINT_STATE, ODOMETRY, DESCRIPTION, PAYLOAD = (
    *('sensor_msgs/msg/JointState', 'nav_msgs/msg/Odometry'),
    *('std_msgs/msg/String', 'dynamics_ros_msgs/msg/Payload'),
)
LOG = logging.getLogger(__name__)

WIDTH = 40
"""Characters of the progress bar."""

INTERRUPTED = 130
"""Exit code, as shells have it for SIGINT."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 0 when estimates were written."""
    logging.basicConfig(format='%(levelname)s: %(message)s')
    options = _parser().parse_args(arguments)
    try:
        summary = estimate(options)
    except DynamicsRosError as error:
        print(f'estimate_bag: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nestimate_bag: interrupted; what is written so far is incomplete', file=sys.stderr)
        return INTERRUPTED
    print(_told(summary))
    return 0


def estimate(options: argparse.Namespace) -> Summary:
    """Read, estimate, write, plot.

    Raises:
        DynamicsRosError: a recording, a robot or a parameter that cannot be used.
    """
    values = _parameters(options, 'contact_node')
    settings = settings_of(ContactParameters, values)
    general = settings_of(RobotParameters, values)
    known = [item.name for kind in (ContactParameters, RobotParameters) for item in declared(kind)]
    _refuse_undeclared(options, values.keys() - known, known)
    carried = settings_of(DynamicsParameters, _parameters(options, 'dynamics_node')).payload
    with Recording(options.bag) as recording:
        source = (
            read_description_file(options.robot)
            if options.robot
            else _recorded_description(recording)
        )
        factory = EstimatorFactory(source, general, settings)
        first = factory.make(carried)
        topics = Topics(
            _topic(recording, JOINT_STATE, options.topic),
            _topic(recording, ODOMETRY, options.odometry) if factory.base_moves else None,
            _payload_topic(recording, options.payload),
        )
        total = recording.count(topics.all())
        with RecordingWriter(options.output, options.storage or recording.storage) as writer:
            summary = Estimates(factory, first).run(
                recording, topics, writer, lambda messages: _shown(messages, total)
            )
    if not len(summary.times):
        raise RecordingError(f'nothing could be estimated. {_told(summary)}')
    plot(summary, options.output / 'estimates.png')
    return summary


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='estimate_bag', description=__doc__)
    parser.add_argument('bag', type=Path, help='rosbag2: its folder, or a single .mcap file')
    parser.add_argument(
        '--robot', metavar='FILE', help='URDF, or xacro; the recorded robot_description by default'
    )
    parser.add_argument('--output', type=Path, required=True, help='folder of the new rosbag2')
    parser.add_argument(
        '--parameters', type=Path, metavar='YAML', help='of contact_node, as for --params-file'
    )
    parser.add_argument('--topic', help='of the joint states, where there are several')
    parser.add_argument('--odometry', metavar='TOPIC', help='of a moving base')
    parser.add_argument(
        '--payload', metavar='TOPIC', help='of what is carried, where there are several'
    )
    parser.add_argument(
        '--storage', choices=('mcap', 'sqlite3'), help='that of the recording by default'
    )
    return parser


def _parameters(options: argparse.Namespace, node: str) -> dict[str, Any]:
    return read_parameters(options.parameters, node) if options.parameters else {}


def _refuse_undeclared(
    options: argparse.Namespace, unknown: Iterable[str], known: Sequence[str]
) -> None:
    """As the node does: what is for all nodes may be for others."""
    for_all = _parameters(options, '')
    refused = []
    for name in sorted(unknown):
        if name in for_all:
            LOG.warning(undeclared(name, known))
        else:
            refused.append(f'contact_node has no parameter {name!r}{meant(name, known)}')
    if refused:
        raise DynamicsRosError('; '.join(refused))


def _recorded_description(recording: Recording) -> str:
    topics = [t for t in recording.topics(DESCRIPTION) if t.endswith('robot_description')]
    for _, _, data in recording.messages(topics) if topics else ():
        return str(deserialize_message(data, String).data)
    raise RecordingError('no robot_description was recorded: give the robot with --robot FILE')


def _topic(recording: Recording, kind: str, wanted: str | None) -> str:
    """The topic of a type that is meant.

    Raises:
        InvalidArgumentError: there is none, or there are several and none was named.
    """
    found = recording.topics(kind)
    if wanted is not None and wanted in found:
        return wanted
    if wanted is None and len(found) == 1:
        return found[0]
    there = ', '.join(found) or 'none'
    named = repr(wanted) if wanted else 'not given'
    raise InvalidArgumentError(f'topic of {kind}', named, f'one of those recorded: {there}')


def _payload_topic(recording: Recording, wanted: str | None) -> str | None:
    """The topic that says what is carried; None where none was recorded and none is wanted."""
    if wanted is None and not recording.topics(PAYLOAD):
        return None
    return _topic(recording, PAYLOAD, wanted)


def _shown(messages: Messages, total: int) -> Messages:
    """The messages, with a bar on a terminal that says how far they are."""
    terminal = sys.stderr.isatty()
    shown = -1
    for count, message in enumerate(messages, start=1):
        yield message
        done = WIDTH * count // max(total, 1)
        if terminal and done != shown:
            shown = done
            bar = '#' * done + '.' * (WIDTH - done)
            print(f'\r[{bar}] {count} of {total}', end='', file=sys.stderr, flush=True)
    if terminal:
        print(file=sys.stderr)


def _told(summary: Summary) -> str:
    """What came of it, for a person."""
    lines = [f'{len(summary.times)} estimates of {summary.messages} joint states']
    if summary.refused:
        lines.append(f'{summary.refused} joint states were refused')
    if summary.payloads:
        lines.append(f'another payload {summary.payloads} times')
    lines += [f'{count} times silent: {why}' for why, count in summary.silent.items()]
    lines += [f'{count} times touched: {link}' for link, count in summary.links.items()]
    return '; '.join(lines)


if __name__ == '__main__':
    sys.exit(main())
