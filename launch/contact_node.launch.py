# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques, contact wrenches and the contact state: contact_node alone."""

from functools import partial

from dynamics_ros.launching import one_node

generate_launch_description = partial(one_node, 'contact_node')
