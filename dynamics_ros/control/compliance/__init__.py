# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance control, and a compliant arm that uses it.

`impedance` is the law as a kernel of a robot, `gains` are its inputs. `compliant_arm` makes them
from the settings of an arm and runs the law for each sample: towards targets (`setpoint`), guided
by a hand, to rest (`stop`), and in reaction to collisions (`reactions`). `motion_check`
detects physically impossible measurements.
"""
