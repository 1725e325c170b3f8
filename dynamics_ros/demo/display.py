# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Output of the demonstration: a repainted block in a terminal, plain lines otherwise."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time

import numpy as np
from numpy.typing import NDArray

from .client import Client
from .measures import wrench_in_root
from .report import Report
from .subject import Subject
from .tracks import pose_error

Array = NDArray[np.float64]

_BOLD, _DIM, _GREEN, _RED, _YELLOW, _PLAIN = (
    '\033[1m', '\033[2m', '\033[32m', '\033[31m', '\033[33m', '\033[0m',
)  # fmt: skip
_REPAINT = 0.1  # s
_LINE = 1.0  # s between two plain lines
_EVENTS = 6
_MAX_JOINTS = 8


class Display:
    """Shows the latest messages, and events as they occur.

    Args:
        subject: the robot.
        client: source of the messages.
    """

    def __init__(self, subject: Subject, client: Client) -> None:
        self._subject = subject
        self._client = client
        self._terminal = sys.stdout.isatty()
        self._painted = 0
        self._next_update = 0.0
        self._events: list[str] = []
        self._began = time.monotonic()
        # Earlier messages do not count for the rate.
        self._count = (self._began, client.joint_states.count)
        self._rate: float | None = None

    def event(self, text: str) -> None:
        """Add a line of text to the events."""
        line = f'{time.monotonic() - self._began:6.1f} s  {text}'
        self._events = [*self._events, line][-_EVENTS:]
        if self._terminal:
            self._next_update = 0.0
        else:
            print(line, flush=True)

    def update(self) -> None:
        """Update the output if its period has passed."""
        now = time.monotonic()
        if now < self._next_update or not self._client.joint_states.newest:
            return
        period = _REPAINT if self._terminal else _LINE
        # Keep a steady rate, but do not repeat an overdue update.
        self._next_update += (
            period if now - self._next_update < period else now - self._next_update + period
        )
        then, count = self._count
        if now - then >= 0.5:
            received = self._client.joint_states.count
            self._rate, self._count = (received - count) / (now - then), (now, received)
        if self._terminal:
            self._paint(self._block())
        else:
            print(f'{now - self._began:6.1f} s  {self._status()}', flush=True)

    def _paint(self, lines: list[tuple[str, str]]) -> None:
        """Replace the previous lines by others, each with a style and a text."""
        width = shutil.get_terminal_size().columns - 1
        text = f'\033[{self._painted}F' if self._painted else ''
        # Cut lines, because a wrapped line would change the height of the block.
        text += ''.join(f'{style}{line[:width]}{_PLAIN}\033[K\n' for style, line in lines)
        # Write without Python's buffer, so that Ctrl-C does not leave half a block.
        os.write(sys.stdout.fileno(), text.encode())
        self._painted = len(lines)

    def _block(self) -> list[tuple[str, str]]:
        subject, client = self._subject, self._client
        names = subject.robot.joint_names
        title = f'{subject.robot.name}   {len(names)} joints, tool {subject.tool}' + _number(
            self._rate, ', {:.0f} joint states a second'
        )
        contact = client.contact.latest
        touched = contact is not None and contact.touched
        lines = [
            (_BOLD, title),
            (_YELLOW + _BOLD, f'contact at {contact.link}' if contact and touched else ''),
            (
                _DIM,
                f'{"joint":24}{"position":>10}{"velocity":>10}{"gravity":>10}{"external":>10}',
            ),
        ]
        for name, columns in zip(names[:_MAX_JOINTS], self._joint_columns(), strict=False):
            lines.append(('', f'{name[:23]:24}{columns}'))
        if len(names) > _MAX_JOINTS:
            lines.append((_DIM, f'and {len(names) - _MAX_JOINTS} more'))
        shown = ['', self._pose_line(), *self._push_lines(), '']
        lines += [('', line) for line in shown]
        lines += [(_DIM, line) for line in self._events]
        lines += [('', '')] * (_EVENTS - len(self._events))
        return lines

    def _joint_columns(self) -> list[str]:
        client = self._client
        state = client.newest_state()
        unknown = np.full_like(state.q, np.nan)
        gravity, external = client.gravity.latest, client.external_torques.latest
        columns = [
            state.q,
            state.v,
            unknown if gravity is None else gravity,
            unknown if external is None else external,
        ]
        return [''.join(f'{value:10.3f}' for value in row) for row in np.transpose(columns)]

    def _pose_line(self) -> str:
        stamp = self._client.pose.newest
        pose = self._client.pose.get(stamp)
        if pose is None:
            return 'tool       -'
        text = f'tool       {_vector(pose[:3, 3])} m'
        truth = self._client.true_pose.get(stamp)
        if truth is not None:
            distance, _ = pose_error(pose, truth)
            text += f'   off by {distance:.0e} m'
        return text

    def _push_lines(self) -> list[str]:
        client = self._client
        wrench, truth, pose = (
            client.wrench.latest,
            client.true_wrench.latest,
            client.true_pose.latest,
        )
        if wrench is None or truth is None or pose is None:
            return ['push       -', 'estimated  -']
        true = wrench_in_root(truth, pose, self._subject)[:3]
        found = wrench_in_root(wrench, pose, self._subject)[:3]
        size = float(np.linalg.norm(true))
        text = f'estimated  {_vector(found)} N   {np.linalg.norm(found):6.2f} N'
        if size > 0.0:
            percent = float(np.linalg.norm(found - true)) / size * 100.0
            text += f'   off by {percent:.1f} %'
        return [f'push       {_vector(true)} N   {size:6.2f} N', text]

    def _status(self) -> str:
        client = self._client
        pose = client.pose.latest
        wrench = client.wrench.latest
        gravity = client.gravity.latest
        parts = [] if self._rate is None else [f'{self._rate:.0f} Hz']
        if pose is not None:
            parts.append(f'tool {_vector(pose[:3, 3])} m')
        if gravity is not None:
            parts.append(f'gravity {listed(np.abs(gravity).max(keepdims=True))} Nm at most')
        if wrench is not None:
            parts.append(f'force {np.linalg.norm(wrench.values[:3]):.2f} N')
        return ', '.join(parts)


def listed(values: Array) -> str:
    """Values of one kind as text: at least three digits of the largest, a limited number."""
    largest = float(np.max(np.abs(values), initial=0.0))
    decimals = min(max(2 - math.floor(math.log10(largest)), 2), 9) if largest else 2
    # Adding 0.0 removes the sign of a negative zero.
    shown = [f'{value:.{decimals}f}' for value in np.round(values[:_MAX_JOINTS], decimals) + 0.0]
    if len(values) > _MAX_JOINTS:
        shown.append(f'and {len(values) - _MAX_JOINTS} more')
    return ' '.join(shown)


def summary(report: Report) -> str:
    """Text of a report with its figures."""
    color = sys.stdout.isatty()
    shades = (_GREEN, _YELLOW, _RED, _PLAIN) if color else ('', '', '', '')
    good, doubtful, bad, plain = shades
    rows = [
        ('joint states', _number(report.joint_state_rate_hz, '{:.0f} a second')),
        (
            'pose of the tool',
            _number(report.pose_error_m, 'off by {:.1e} m at most')
            + _number(report.pose_error_rad, ', {:.1e} rad'),
        ),
        ('gravity torques', _number(report.gravity_torque_error_nm, 'off by {:.1e} Nm at most')),
        (
            'push',
            _number(report.push_true_n, '{:.2f} N')
            + _number(report.push_detected_after_ms, ', detected after {:.0f} ms')
            + _number(report.push_estimated_n, ', estimated {:.2f} N')
            + _number(report.push_error_percent, ', off by {:.2f} %')
            + (' (joint torques)' if report.push_compared != 'force' else ''),
        ),
        (
            'inverse kinematics',
            _number(report.inverse_kinematics_error_m, 'off by {:.1e} m')
            + _number(report.inverse_kinematics_ms, ', {:.1f} ms'),
        ),
        (
            'inverse dynamics',
            _number(report.inverse_dynamics_error_nm, 'off by {:.1e} Nm')
            + _number(report.inverse_dynamics_ms, ', {:.1f} ms'),
        ),
    ]
    lines = [f'  {name:20}{text or "-"}' for name, text in rows]
    lines += [f'  too slow for {figure}: {how}' for figure, how in report.late.items()]
    verdict = f'{good}all of it worked{plain}'
    if report.failures:
        verdict = f'{bad}failed{plain}'
    elif report.late:
        verdict = f'{doubtful}nothing was wrong, but this machine is too slow for all of it{plain}'
    return '\n'.join(['', f'{report.robot}, {report.joints} joints: {verdict}', *lines])


def _number(value: float | None, form: str) -> str:
    return '' if value is None else form.format(value)


def _vector(values: Array) -> str:
    return ' '.join(f'{value:8.3f}' for value in values)
