"""estimate_bag: the estimators of contact_node over a rosbag2, into another one and a plot."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from ..description_file import read_description_file
from ..errors import DynamicsRosError, InvalidArgumentError
from ..estimation import ContactLocator, sample_surfaces
from ..model import build_model
from ..model.collision_geometry import read_collision_geometry
from ..model.tool_frame import tool_frame
from ..model.urdf import read_urdf
from ..nodes.contact_pipeline import ContactPipeline
from ..nodes.declaration import declared, undeclared
from ..nodes.parameters import (
    ContactParameters,
    DynamicsParameters,
    PayloadParameters,
    RobotParameters,
)
from ..nodes.robot_builder import PayloadRequest
from ..nodes.state import StateBuffer
from ..robot import Robot
from .bag import Recording, RecordingError, RecordingWriter
from .estimates import Estimates, Messages, Summary
from .plot import plot
from .settings import read_parameters, settings_of

JOINT_STATE, ODOMETRY, DESCRIPTION = (
    *('sensor_msgs/msg/JointState', 'nav_msgs/msg/Odometry'),
    'std_msgs/msg/String',
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
    for name in values.keys() - known:
        LOG.warning(undeclared(name, known))
    carried = settings_of(DynamicsParameters, _parameters(options, 'dynamics_node')).payload
    with Recording(options.bag) as recording:
        source = (
            read_description_file(options.robot)
            if options.robot
            else _recorded_description(recording)
        )
        description = read_urdf(source)
        locked = dict(
            zip(general.locked_joints.names, general.locked_joints.positions, strict=False)
        )
        model = build_model(description, general.root_joint, general.gravity, locked)
        robot = _loaded(Robot(model, general.backend), carried)
        pipeline = ContactPipeline(robot, settings, tool_frame(description))
        pipeline.compile()
        joint_states = _topic(recording, JOINT_STATE, options.topic)
        moving = robot.model.root_joint_nv > 0
        odometry = _topic(recording, ODOMETRY, options.odometry) if moving else None
        total = recording.count([joint_states, *([odometry] if odometry else [])])
        estimates = Estimates(
            pipeline,
            StateBuffer(robot, tuple(locked), general.joint_timeout),
            _locator(robot, source, settings, pipeline),
            description.root,
        )
        with RecordingWriter(options.output, options.storage or recording.storage) as writer:
            summary = estimates.run(
                recording, joint_states, odometry, writer, lambda messages: _shown(messages, total)
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
        '--storage', choices=('mcap', 'sqlite3'), help='that of the recording by default'
    )
    return parser


def _parameters(options: argparse.Namespace, node: str) -> dict[str, Any]:
    return read_parameters(options.parameters, node) if options.parameters else {}


def _loaded(robot: Robot, payload: PayloadParameters) -> Robot:
    if not payload.mass:
        return robot
    inertia = PayloadRequest(inertia=payload.inertia).inertia_matrix()
    return robot.with_payload(payload.frame, payload.mass, payload.center_of_mass, inertia)


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


def _locator(
    robot: Robot, description: str, settings: ContactParameters, pipeline: ContactPipeline
) -> ContactLocator | None:
    if not settings.location.enabled:
        return None
    geometry = read_collision_geometry(description)
    for problem in geometry.problems[:1]:
        LOG.warning('contacts there: %s', problem)
    surfaces = sample_surfaces(geometry.triangles, settings.location.resolution)
    noise = pipeline.detector.contact_thresholds / settings.thresholds.sigmas
    return ContactLocator(robot, surfaces, noise=noise, friction=settings.location.friction)


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
    lines += [f'{count} times silent: {why}' for why, count in summary.silent.items()]
    lines += [f'{count} times touched: {link}' for link, count in summary.links.items()]
    return '; '.join(lines)


if __name__ == '__main__':
    sys.exit(main())
