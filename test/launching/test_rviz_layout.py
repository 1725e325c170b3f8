# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""config/dynamics.rviz opens with a large 3-D view: the layout that it keeps is read here.

RViz restores the bytes of QMainWindow.saveState(); scripts/rviz_layout.py made them with Qt. Their
order is that of QDockAreaLayout::saveState and QMainWindowLayoutState::saveState in Qt 5.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import yaml

CONFIG = yaml.safe_load(
    (Path(__file__).parents[2] / 'config' / 'dynamics.rviz').read_text(encoding='utf-8')
)
GEOMETRY = CONFIG['Window Geometry']
SIDES = ('left', 'right', 'top', 'bottom')


class Reader:
    """Big-endian values one after another, as QDataStream writes them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, layout: str):
        values = struct.unpack_from(f'>{layout}', self._data, self._at)
        self._at += struct.calcsize(f'>{layout}')
        return values[0] if len(values) == 1 else values

    def text(self) -> str:
        size = self.take('I')
        return self.take(f'{size}s').decode('utf-16-be')


def areas(state: bytes):
    """Side to its (width, height) and the names of its docks; the size of what is between."""
    reader = Reader(state)
    assert reader.take('II') == (0xFF, 0)
    assert reader.take('B') == 0xFD
    found = {}
    for _ in range(reader.take('I')):
        side, width, height = reader.take('III')
        assert reader.take('B') == 0xFC  # docks in a row, no tabs
        reader.take('B')  # which way the row goes
        names = []
        for _ in range(reader.take('I')):
            assert reader.take('B') == 0xFB  # a dock
            names.append(reader.text())
            assert reader.take('B') == 1  # visible, not floating
            reader.take('IIII')
        found[SIDES[side]] = ((width, height), names)
    return found, reader.take('II')


@pytest.fixture(scope='module')
def layout():
    return areas(bytes.fromhex(GEOMETRY['QMainWindow State']))


def test_each_panel_has_a_place_and_the_wide_one_is_at_the_bottom(layout):
    found, _ = layout
    docks = {side: names for side, (_, names) in found.items()}
    assert docks == {'left': ['Displays'], 'right': ['Views'], 'bottom': ['Time']}
    assert {panel['Name'] for panel in CONFIG['Panels']} == {'Displays', 'Views', 'Time'}


def test_the_view_takes_most_of_the_window(layout):
    found, (width, height) = layout
    window = GEOMETRY['Width'] * GEOMETRY['Height']
    assert width * height > 0.4 * window
    # The right side is hidden, until somebody asks for it.
    assert GEOMETRY['Hide Right Dock'] is True
    (right, _), _ = found['right']
    assert (width + right) * height > 0.6 * window
