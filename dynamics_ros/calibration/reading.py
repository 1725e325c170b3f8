# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of joint states from ROS 2 and ROS 1 bags, CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.recordings.bag import Recording, RecordingError

from .tables import TABLES, read_table

JOINT_STATE = 'sensor_msgs/msg/JointState'

MIN_FORWARD = 0.9
"""Minimum share of increasing stamps; otherwise the times of recording are used."""


def has_topics(path: Path) -> bool:
    """Whether a recording is a bag, by its name; tables have no topics."""
    return path.suffix.lower() not in TABLES


def read_samples(path: Path, topic: str | None = None) -> JointSamples:
    """Reads the joint states of a file.

    Args:
        path: a rosbag2 folder, an .mcap or .db3 file, a ROS 1 .bag, a .csv or .parquet file.
        topic: topic of the joint states in a bag; None selects the one with most messages.

    Raises:
        DynamicsRosError: the file cannot be read, or contains no joint states.
    """
    if path.suffix.lower() in TABLES:
        return read_table(path)
    with Recording(path) as recording:
        chosen = _topic(path, recording, topic)
        messages = [(time, message) for _, time, message in recording.decoded([chosen])]
    return _samples(path.name, messages)


def _topic(path: Path, recording: Recording, wanted: str | None) -> str:
    found = recording.topics(JOINT_STATE)
    if wanted is not None and wanted in found:
        return wanted
    if wanted is None and len(found) > 1:
        found = [max(found, key=lambda topic: recording.count([topic]))]
    if wanted is None and found:
        return found[0]
    if found:
        raise RecordingError(f'{path}: no joint states on {wanted}; there are: {", ".join(found)}')
    others = ', '.join(f'{topic} ({kind})' for topic, kind in recording.kinds().items()) or 'none'
    raise RecordingError(
        f'{path}: no joint states ({JOINT_STATE}) on any topic; topics are: {others}'
    )


def _samples(source: str, messages: Sequence[tuple[int, Any]]) -> JointSamples:
    """Converts messages to samples, of those with the most frequent list of joint names."""
    by_names: dict[tuple[str, ...], list[tuple[int, Any]]] = {}
    for time, message in messages:
        by_names.setdefault(tuple(message.name), []).append((time, message))
    if not by_names:
        raise UnusableRecordingError(f'{source}: holds no joint states')
    names, chosen = max(by_names.items(), key=lambda item: len(item[1]))
    count = len(names)
    chosen = [(t, m) for t, m in chosen if len(m.position) == count]
    if not chosen:
        raise UnusableRecordingError(f'{source}: its joint states hold no positions')
    with_effort = [(t, m) for t, m in chosen if len(m.effort) == count]
    if not with_effort:
        raise UnusableRecordingError(
            f'{source}: holds no efforts; record joint states whose effort is filled '
            '(a joint_state_broadcaster needs the state interface "effort")'
        )
    with_velocity = all(len(m.velocity) == count for _, m in with_effort)
    recorded = np.array([time for time, _ in with_effort]) * 1e-9
    stamps = np.array([m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for _, m in with_effort])
    forward = np.mean(np.diff(stamps) > 0.0) if len(stamps) > 1 else 0.0
    return JointSamples(
        source,
        names,
        stamps if forward >= MIN_FORWARD else recorded,
        np.array([m.position for _, m in with_effort]),
        np.array([m.velocity for _, m in with_effort]) if with_velocity else None,
        np.array([m.effort for _, m in with_effort]),
    )
