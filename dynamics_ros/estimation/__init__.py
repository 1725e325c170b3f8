"""What the robot feels: external joint torques, wrenches at frames, contact, and taring."""

from .contact import ContactDetector, ContactReport, ContactState
from .contact_location import ContactLocation, ContactLocator
from .contact_surface import Surface, sample_surfaces
from .effort_model import EffortModel
from .observers import (
    OBSERVERS,
    InverseDynamicsObserver,
    MomentumObserver,
    ObserverEvent,
    SecondOrderMomentumObserver,
    StaticObserver,
    TorqueObserver,
)
from .tare import Tare, TareResult
from .wrench import WrenchEstimate, WrenchEstimator

__all__ = [
    'OBSERVERS',
    'ContactDetector',
    'ContactLocation',
    'ContactLocator',
    'ContactReport',
    'ContactState',
    'EffortModel',
    'InverseDynamicsObserver',
    'MomentumObserver',
    'ObserverEvent',
    'SecondOrderMomentumObserver',
    'StaticObserver',
    'Surface',
    'Tare',
    'TareResult',
    'TorqueObserver',
    'WrenchEstimate',
    'WrenchEstimator',
    'sample_surfaces',
]
