# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of a robot from itself and from obstacles, computed by the library coal.

`Collisions` has the shapes of a robot's links, the pairs that may collide and the obstacles. It is
an option of inverse kinematics. Needs coal, which the extra ``collision`` installs.
"""

from .repulsion import Repulsion
from .scene import Collisions, Distances
from .shapes import Obstacle

__all__ = ['Collisions', 'Distances', 'Obstacle', 'Repulsion']
