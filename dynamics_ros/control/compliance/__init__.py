# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A tool on springs: Cartesian impedance control, and an arm that lives by it.

`impedance` is the law as a kernel of a robot, `gains` what it takes. `compliant_arm` runs it from
sample to sample: towards targets (`setpoint`), led by a hand (`guiding`), to rest (`stop`), and in
answer to collisions (`reactions`). `motion_check` judges whether what is measured can be.
"""
