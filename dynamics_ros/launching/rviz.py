# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Adapts the RViz configuration of this package to the launched robots."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dynamics_ros.wire.topic_names import topic_names

from .settings import Settings

Display = dict[str, Any]

# Display class to node and topic of a frame.
_OF_A_FRAME = {
    'rviz_default_plugins/Pose': ('Pose of', 'kinematics_node', 'pose'),
    'rviz_default_plugins/Wrench': ('Wrench at', 'contact_node', 'wrench'),
}


def adapted(config: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the configuration with the topics and frames of the settings.

    Each display of a pose or a wrench is copied for each frame that is known at launch. The display
    of a wrench is disabled if the wrench is expressed in another frame, because RViz would draw it
    at the origin of that frame.

    Args:
        config: content of an .rviz file of this package.
        settings: settings of the launch file.
    """
    config = copy.deepcopy(config)
    manager = config['Visualization Manager']
    manager['Displays'] = [
        _placed(display, settings)
        for template in manager['Displays']
        for display in _for_frames(template, settings)
    ]
    frame = settings.fixed_frame
    if frame:
        manager['Global Options']['Fixed Frame'] = frame
    return config


def adapted_for_several(
    config: dict[str, Any], robots: Mapping[str, Settings], fixed_frame: str
) -> dict[str, Any]:
    """Return the configuration with the displays of several robots in one tf tree.

    Args:
        config: content of an .rviz file of this package.
        robots: settings of each robot, by name.
        fixed_frame: fixed frame of RViz.
    """
    joined: list[Display] = []
    for name, settings in robots.items():
        for display in adapted(config, settings)['Visualization Manager']['Displays']:
            if {'Topic', 'Description Topic'} & display.keys():
                joined.append(display | {'Name': f'{name}: {display["Name"]}'})
            elif display not in joined:
                joined.append(display)
    config = copy.deepcopy(config)
    manager = config['Visualization Manager']
    manager['Displays'] = joined
    manager['Global Options']['Fixed Frame'] = fixed_frame
    return config


def _for_frames(template: Display, settings: Settings) -> Iterator[Display]:
    title, node, topic = _OF_A_FRAME.get(template['Class'], ('', '', ''))
    frames: Sequence[str] = ()
    if node:
        chosen = settings.frames if topic == 'pose' else settings.contact_frames
        frames = chosen or [name for name in [settings.tool] if name]
    if not frames:
        yield template
    for frame, name in topic_names(frames).items():
        display = copy.deepcopy(template)
        display['Name'] = f'{title} {frame}'
        display['Topic']['Value'] = f'/{node}/{name}/{topic}'
        if topic == 'wrench':
            display['Enabled'] = display['Value'] = settings['wrench_expressed_in'] in ('', frame)
        yield display


def _placed(display: Display, settings: Settings) -> Display:
    display = copy.deepcopy(display)
    for key in ('Topic', 'Description Topic'):
        if key in display:
            name = display[key]['Value'].removeprefix('/')
            if key == 'Description Topic':
                name = settings['description_topic'] or name
            display[key]['Value'] = settings.resolved(name)
    if 'TF Prefix' in display:
        # RViz adds the slash between prefix and link itself.
        display['TF Prefix'] = settings['frame_prefix'].removesuffix('/')
    return display
