# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writes the layout of the window into config/dynamics.rviz, and draws it with --picture FILE.

RViz keeps the places and sizes of its panels as the bytes of QMainWindow.saveState(). This makes a
window with the panels of that file as RViz does (docks named after the panels, a tool bar 'Tools'),
puts Displays to the left, Views to the right and Time below, and writes its state. Needs PyQt5, as
RViz is built on Qt 5:

    pip install PyQt5 PyYAML && QT_QPA_PLATFORM=offscreen python3 scripts/rviz_layout.py
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import yaml
from PyQt5.QtCore import QByteArray, QSize, Qt
from PyQt5.QtWidgets import QApplication, QDockWidget, QLabel, QMainWindow

FILE = Path(__file__).parents[1] / 'config' / 'dynamics.rviz'
AREAS = {
    'Displays': Qt.LeftDockWidgetArea,
    'Views': Qt.RightDockWidgetArea,
    'Time': Qt.BottomDockWidgetArea,
}
WIDTHS = {'Displays': 330, 'Views': 260}
# What the panels of RViz ask for [pixels]: the clocks of Time in a row need much width.
MINIMA = {'Displays': QSize(160, 230), 'Views': QSize(180, 160), 'Time': QSize(650, 38)}
STATE = re.compile(r'^  QMainWindow State: .*\n', re.MULTILINE)


def window(config: dict) -> QMainWindow:
    """A window as RViz makes it before it restores the state: every dock to the left."""
    frame = QMainWindow()
    geometry = config['Window Geometry']
    frame.resize(geometry['Width'], geometry['Height'])
    frame.setCentralWidget(QLabel('3-D view'))
    frame.centralWidget().setStyleSheet('background: #303030; color: white')
    frame.menuBar().addMenu('File')
    frame.statusBar().showMessage('Reset')
    bar = frame.addToolBar('Tools')
    bar.setObjectName('Tools')
    bar.addAction('Interact')
    for panel in config['Panels']:
        dock = QDockWidget(panel['Name'])
        dock.setObjectName(panel['Name'])
        dock.setWidget(QLabel(panel['Class']))
        dock.widget().setMinimumSize(MINIMA[panel['Name']])
        frame.addDockWidget(Qt.LeftDockWidgetArea, dock)
    return frame


def arrange(frame: QMainWindow) -> None:
    """Put the docks where they belong. The bottom reaches below the sides."""
    docks = {name: frame.findChild(QDockWidget, name) for name in AREAS}
    for name, area in AREAS.items():
        frame.addDockWidget(area, docks[name])
    frame.show()
    QApplication.processEvents()
    frame.resizeDocks([docks[name] for name in WIDTHS], list(WIDTHS.values()), Qt.Horizontal)
    frame.resizeDocks([docks['Time']], [MINIMA['Time'].height()], Qt.Vertical)
    QApplication.processEvents()


def main() -> None:
    """Write the state, or draw what a window that restores it looks like."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--picture', type=Path, help='image file for a picture of the window, without changes'
    )
    options = parser.parse_args()
    _application = QApplication([])
    text = FILE.read_text()
    config = yaml.safe_load(text)
    frame = window(config)
    if options.picture is None:
        arrange(frame)
        line = f'  QMainWindow State: {bytes(frame.saveState().toHex()).decode()}\n'
        text = STATE.sub('', text)
        FILE.write_text(text.replace('  Width:', f'{line}  Width:'))
        return
    state = config['Window Geometry'].get('QMainWindow State', '')
    frame.restoreState(QByteArray.fromHex(state.encode()))
    if config['Window Geometry']['Hide Right Dock']:
        frame.findChild(QDockWidget, 'Views').hide()
    frame.show()
    QApplication.processEvents()
    frame.grab().save(str(options.picture))
    size = frame.centralWidget().size()
    print(f'3-D view: {size.width()} x {size.height()} of {frame.width()} x {frame.height()}')


if __name__ == '__main__':
    main()
