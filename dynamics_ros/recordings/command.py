# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""estimate_bag: runs the estimators of contact_node over a bag; writes a rosbag2."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dynamics_ros.command_line import INTERRUPTED, with_progress
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.files import completed
from dynamics_ros.model.description_file import read_description_file

from .bag import JOINT_STATE, Recording, RecordingError, RecordingWriter
from .estimates import EstimateWriter
from .rerun_file import RerunFile
from .settings import read_settings
from .states import (
    ODOMETRY,
    EstimatedStates,
    EstimatorFactory,
    Topics,
    batches,
    payload_topic,
    recorded_description,
    topic_of,
)

LOG = logging.getLogger(__name__)

SIGNALS = signal.SIGTERM, signal.SIGHUP, signal.SIGINT
"""Of ``kill``, service managers and job schedulers, of a terminal that closes, and of Ctrl-C."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 if estimates were written."""
    logging.basicConfig(format='%(levelname)s: %(message)s')
    options = _parser().parse_args(arguments)
    try:
        with interrupted_by_signals():
            summary_text = estimate(options)
    except (DynamicsRosError, OSError) as error:
        print(f'estimate_bag: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\nestimate_bag: interrupted; nothing is written', file=sys.stderr)
        return INTERRUPTED
    print(summary_text)
    return 0


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on ``SIGNALS``.

    Signals that are ignored, as by nohup, or handled otherwise stay so. In another thread than the
    main one nothing changes, because Python handles signals in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [one for one in SIGNALS if signal.getsignal(one) is signal.SIG_DFL]
    for one in ours:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def estimate(options: argparse.Namespace) -> str:
    """Runs the estimators on a recording, writes the bag, and returns a summary as text.

    Raises:
        DynamicsRosError: the recording, the robot or a parameter is not valid.
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
            LOG.warning('contacts on these shapes are not located: %s', factory.geometry_problem)
        first = factory.make(settings.carried)
        topics = Topics(
            joint_states,
            topic_of(recording, ODOMETRY, options.odometry) if factory.base_moves else None,
            payload_topic(recording, options.payload),
        )
        total = recording.count(topics.all())
        states = EstimatedStates(factory, first, topics)
        storage = options.storage or recording.storage
        with ExitStack() as files:
            partial = files.enter_context(completed(options.output, replace=False))
            scene = None
            if options.rerun:
                path = files.enter_context(completed(options.rerun))
                folder = Path(options.robot or '').parent
                scene = RerunFile(path, factory.robot, source, folder)
                files.callback(scene.close)
            with RecordingWriter(partial, storage) as writer:
                output = EstimateWriter(first, factory.root_link, writer)
                messages = with_progress(recording.messages(topics.all()), total, 'messages')
                # One by one, because each state has messages of its own.
                for block in states.blocks(batches(messages, joint_states, max_size=1)):
                    output.write(block)
                    if scene is not None:
                        scene.write(block)
            summary_text = _summary_text(output, states)
            if not output.count:
                raise RecordingError(f'nothing could be estimated. {summary_text}')
    return summary_text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='estimate_bag', description=__doc__)
    parser.add_argument('bag', type=Path, help='rosbag2 folder, .mcap file, or ROS 1 .bag')
    parser.add_argument(
        '--robot',
        metavar='FILE',
        help='URDF or xacro file (default: the recorded robot_description)',
    )
    parser.add_argument(
        '--output', type=Path, required=True, help='folder of the new rosbag2; must not exist'
    )
    parser.add_argument(
        '--parameters',
        type=Path,
        metavar='YAML',
        help='parameter file of contact_node, as for --params-file (default: its defaults)',
    )
    parser.add_argument(
        '--rerun',
        type=Path,
        metavar='FILE.rrd',
        help='also write a file of Rerun with robot, forces and torques; needs rerun-sdk',
    )
    parser.add_argument('--topic', help='topic of the joint states (default: the only one)')
    parser.add_argument(
        '--odometry', metavar='TOPIC', help='topic of the odometry of a moving base'
    )
    parser.add_argument(
        '--payload', metavar='TOPIC', help='topic of the payload (default: the only one)'
    )
    parser.add_argument(
        '--storage',
        choices=('mcap', 'sqlite3'),
        help='storage format of the new rosbag2 (default: that of the recording)',
    )
    return parser


def _summary_text(output: EstimateWriter, states: EstimatedStates) -> str:
    """Returns the numbers of estimates, refused messages and contacts."""
    lines = [f'{output.count} estimates of {states.messages} joint states']
    if states.refused:
        lines.append(states.refusals_told())
    if states.payloads:
        lines.append(f'another payload {len(states.payloads)} times')
    lines += [f'{count} states without an estimate: {why}' for why, count in states.silent.items()]
    lines += [f'{count} states in contact at {link}' for link, count in output.links.items()]
    return '; '.join(lines)


if __name__ == '__main__':
    sys.exit(main())
