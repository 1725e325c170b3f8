# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""inspect: prints a robot description and its likely errors."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dynamics_ros.collision import Collisions
from dynamics_ros.command_line import Block, show
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError, printable
from dynamics_ros.kernels import call_path
from dynamics_ros.model import build_model
from dynamics_ros.model.build import ROOT_JOINTS
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.doubts import LOG
from dynamics_ros.model.tool_frame import tool_frame_and_reason
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.model.visual_geometry import read_visual_geometry
from dynamics_ros.page.robot_page import PORT, RobotPage, check_port
from dynamics_ros.robot import Robot

from . import page
from .oddities import oddities


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 if it has findings, 2 with the reason if there is no robot."""
    options = _parser().parse_args(arguments)
    level = LOG.level
    try:
        with suppress(BrokenPipeError):
            return _inspect(options)
    except DynamicsRosError as error:
        print(f'inspect: {error}', file=sys.stderr)
        return 2
    except OSError as error:  # a full disk behind the standard output
        print(f'inspect: the report cannot be written: {error.strerror}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    finally:
        LOG.setLevel(level)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='inspect', description=__doc__)
    parser.add_argument('robot', metavar='FILE', nargs='?', help='URDF or xacro file')
    parser.add_argument(
        '--topic',
        metavar='NAME',
        help='read the description from a topic, such as /robot_description',
    )
    parser.add_argument(
        '--xacro', action='append', default=[], metavar='NAME:=VALUE',
        help='argument of a xacro file; repeatable',
    )  # fmt: skip
    parser.add_argument(
        '--root-joint',
        default='fixed',
        choices=ROOT_JOINTS,
        help='joint between world and root link (default: %(default)s)',
    )
    parser.add_argument(
        '--frame',
        help='frame of inverse kinematics and of the page (default: the tool frame, marked *)',
    )
    parser.add_argument(
        '--collisions',
        action='store_true',
        help='print which pairs of links may collide, which are not checked and why',
    )
    parser.add_argument('--show', action='store_true', help='show the robot on a local web page')
    parser.add_argument(
        '--port', type=int, default=PORT, help='port of that page (default: %(default)s)'
    )
    return parser


def _inspect(options: argparse.Namespace) -> int:
    check_port(options.port)
    if (options.robot is None) == (options.topic is None):
        raise InvalidArgumentError('FILE', 'one of FILE and --topic is needed', 'a file or a topic')
    arguments = _xacro_arguments(options.xacro)
    if options.topic is None:
        text = read_description_file(options.robot, arguments)
    else:
        text = _published(options.topic)
    # The report includes the warnings of the parser.
    LOG.setLevel(logging.ERROR)
    description = parse_urdf(text)
    robot = Robot(build_model(description, options.root_joint))
    folder = Path(options.robot or '').expanduser().parent
    visuals, looks = read_visual_geometry(text, folder)
    tool, reason = tool_frame_and_reason(description)
    if options.frame:
        tool, reason = options.frame, 'chosen by --frame'
    robot.model.frame(tool)
    odd = oddities(description, robot.model, read_collision_geometry(text, folder), looks)
    show(_page(robot, tool, reason, odd, page.tree(robot, description, tool)))
    if options.collisions:
        show(['', 'collisions'])
        scene = Collisions(robot, text, folder=folder, ignore_unreadable=True)
        show(f'  {line}' for line in page.collisions(scene))
    if options.show:
        with RobotPage(robot, visuals, tool, options.port) as shown:
            print(f'\nthe page is at {shown.url}; Ctrl-C ends it', flush=True)
            shown.wait()
    return int(bool(odd))


def _published(topic: str) -> str:
    try:
        from dynamics_ros.wire.description_topic import published_description
    except ImportError:
        reason = 'a topic needs ROS 2: source its setup file, or give the file'
        raise ModelError(f'topic {topic!r}', reason) from None
    return published_description(topic)


def _xacro_arguments(texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition(':=') for text in texts]
    for text, (name, sign, _) in zip(texts, pairs, strict=True):
        if not (name and sign):
            raise InvalidArgumentError('--xacro', repr(text), 'NAME:=VALUE')
    return {name: value for name, _, value in pairs}


def _page(
    robot: Robot, tool: str, reason: str, odd: Sequence[str], tree: Iterator[Block]
) -> Iterator[Block]:
    base = robot.model.root_joint
    yield (
        f'{printable(robot.name)}: {len(robot.joint_names)} joints in q, '
        f'{len(robot.frame_names)} links, {base} base, {robot.total_mass:.4g} kg that move'
    )
    yield ''
    yield from tree
    yield ''
    yield (
        f'{len(robot.frame_names)} frames, each the name of a link; poses are in '
        f'{robot.root_frame}; * the nodes take {tool} where no frame is given'
    )
    yield f'* {reason}'
    yield f'inverse kinematics of {tool}: {page.inverse_kinematics(robot, tool)}'
    yield f'machine code is called by: {call_path()}'
    yield ''
    yield 'odd about this description' if odd else 'nothing is odd about this description'
    for sentence in odd:
        yield f'  ! {printable(sentence)}'
