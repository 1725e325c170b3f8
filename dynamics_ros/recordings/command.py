# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""estimate_bag: the estimators of contact_node over a rosbag2, into another one and a plot."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.model.description_file import read_description_file

from .bag import JOINT_STATE, Recording, RecordingError, RecordingWriter, completed
from .estimates import EstimateWriter, Summary
from .estimators import EstimatorFactory
from .inputs import ODOMETRY, Topics, payload_topic, recorded_description, topic_of
from .interruption import interrupted_by_signals
from .plot import plot
from .settings import read_settings
from .states import EstimatedStates, Messages

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
        with interrupted_by_signals():
            told = estimate(options)
    except (DynamicsRosError, OSError) as error:
        print(f'estimate_bag: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nestimate_bag: interrupted; nothing is written', file=sys.stderr)
        return INTERRUPTED
    print(told)
    return 0


def estimate(options: argparse.Namespace) -> str:
    """Read, estimate, write, plot; what came of it.

    Raises:
        DynamicsRosError: a recording, a robot or a parameter that cannot be used.
    """
    settings = read_settings(options.parameters)
    with Recording(options.bag) as recording:
        joint_states = topic_of(recording, JOINT_STATE, options.topic)
        source = (
            read_description_file(options.robot)
            if options.robot
            else recorded_description(recording, joint_states)
        )
        factory = EstimatorFactory(source, settings.robot, settings.contact)
        if factory.geometry_problem:
            LOG.warning('contacts there: %s', factory.geometry_problem)
        first = factory.make(settings.carried)
        topics = Topics(
            joint_states,
            topic_of(recording, ODOMETRY, options.odometry) if factory.base_moves else None,
            payload_topic(recording, options.payload),
        )
        total = recording.count(topics.all())
        states = EstimatedStates(factory, first, topics)
        storage = options.storage or recording.storage
        with completed(options.output) as partial:
            with RecordingWriter(partial, storage) as writer:
                output = EstimateWriter(first, factory.root_link, writer)
                for one in states.estimates(_shown(recording.messages(topics.all()), total)):
                    output.write(one, states.estimators)
            summary = output.summary
            told = _told(summary, states)
            if not summary.count:
                raise RecordingError(f'nothing could be estimated. {told}')
    plot(summary, options.output / 'estimates.png')
    return told


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


def _shown(messages: Messages, total: int) -> Iterator[tuple[str, int, bytes]]:
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


def _told(summary: Summary, states: EstimatedStates) -> str:
    """What came of it, for a person."""
    lines = [f'{summary.count} estimates of {states.messages} joint states']
    if states.refused:
        lines.append(states.refusals_told())
    if states.payloads:
        lines.append(f'another payload {len(states.payloads)} times')
    lines += [f'{count} times silent: {why}' for why, count in states.silent.items()]
    lines += [f'{count} times touched: {link}' for link, count in summary.links.items()]
    return '; '.join(lines)


if __name__ == '__main__':
    sys.exit(main())
