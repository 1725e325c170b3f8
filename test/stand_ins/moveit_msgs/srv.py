# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two service types of the right names."""

from dynamics_ros_msgs.srv import ComputeForwardKinematics as GetPositionFK
from dynamics_ros_msgs.srv import ComputeInverseKinematics as GetPositionIK

__all__ = ['GetPositionFK', 'GetPositionIK']
