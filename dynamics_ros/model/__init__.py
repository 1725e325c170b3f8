"""What a robot is: description, joints, frames, the frozen Model, and the URDF reader."""

from .description import RobotDescription
from .model import ROOT, Frame, Joint, Model, build_model

__all__ = ['ROOT', 'Frame', 'Joint', 'Model', 'RobotDescription', 'build_model']
