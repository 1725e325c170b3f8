"""What the robot feels: external joint torques, wrenches at frames, contact, and taring."""

from .contact import ContactDetector, ContactReport, ContactState
from .effort_model import EffortModel
from .momentum_observer import MomentumObserver, ObserverEvent
from .tare import Tare, TareResult
from .wrench import WrenchEstimate, WrenchEstimator

__all__ = [
    'ContactDetector',
    'ContactReport',
    'ContactState',
    'EffortModel',
    'MomentumObserver',
    'ObserverEvent',
    'Tare',
    'TareResult',
    'WrenchEstimate',
    'WrenchEstimator',
]
