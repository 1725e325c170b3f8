"""A simulated robot and its independent witness, free of ROS."""

from .actuators import Actuators
from .motion import SmoothMotion, comfortable_posture, slow_motion
from .push import gentle_push
from .reference import LagrangianReference
from .simulated_robot import TIME_STEP_NS, Push, Sample, SimulatedRobot, require_simulable

__all__ = [
    'TIME_STEP_NS',
    'Actuators',
    'LagrangianReference',
    'Push',
    'Sample',
    'SimulatedRobot',
    'SmoothMotion',
    'comfortable_posture',
    'gentle_push',
    'require_simulable',
    'slow_motion',
]
