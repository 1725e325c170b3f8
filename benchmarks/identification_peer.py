# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""figaroh in its own process: `python identification_peer.py IN.npz OUT.npz`.

It uses base parameters by QR, and two passes of least squares, the second weighted by joint, with
viscous and Coulomb friction, rotor inertia and offset, as its class does by default.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

import numpy as np
import pinocchio
from figaroh.identification.base_identification import BaseIdentification


class Identification(BaseIdentification):
    """figaroh's identification of one trajectory in memory, without files."""

    def __init__(self, robot, trajectory, cutoff, rate):
        self._trajectory, self._cutoff, self._rate = trajectory, cutoff, rate
        super().__init__(robot)

    def load_param(self, config_file, setting_type='identification'):
        """Configure all joints with all parameter types."""
        count, empty = self.model.nv, [0.0] * self.model.nv
        self.identif_config = {
            'robot_name': self.model.name,
            'active_joints': list(self.model.names[1:]),
            'act_idxq': list(range(count)),
            'act_idxv': list(range(count)),
            **dict.fromkeys(('has_friction', 'has_actuator_inertia', 'has_joint_offset'), True),
            **{'is_joint_torques': True, 'is_external_wrench': False, 'force_torque': None},
            **dict.fromkeys(('fv', 'fs', 'Ia', 'off'), empty),
            'ratio_essential': 30.0,
            'filter_config': {
                'differentiation_method': 'gradient',
                'filter_params': {
                    **{'nbutter': 4, 'f_butter': self._cutoff},
                    **{'med_fil': 5, 'f_sample': self._rate},
                },
            },
        }

    def load_trajectory_data(self, data_source=None):
        """Stamps, positions, torques; figaroh computes the derivatives."""
        return dict(self._trajectory)

    def process_torque_data(self, **kwargs):
        """Torques after the filter of the positions."""
        return self._apply_filters(self.raw_data['torques'], **self.filter_config['filter_params'])

    def predicted(self, q, v, a):
        """Predicted efforts (n, nv) for other states."""
        from figaroh.tools.regressor import build_regressor_basic

        W = build_regressor_basic(self.robot, q, v, a, self.identif_config)
        reduced = np.delete(W, self._idx_eliminated, axis=1)
        return (reduced[:, self._base_indices] @ self.phi_base).reshape(self.model.nv, -1).T


def main(source, target):
    """Identify from one file; write predicted efforts for its states and the time to another."""
    given = np.load(source)
    model = pinocchio.buildModelFromXML(str(given['urdf']))
    locked = [model.getJointId(str(name)) for name in given['locked']]
    model = pinocchio.buildReducedModel(model, locked, pinocchio.neutral(model))
    assert list(model.names[1:]) == [str(name) for name in given['joints']]
    robot = pinocchio.RobotWrapper(model)
    names = ('timestamps', 'positions', 'torques')
    trajectory = {name: given[name] for name in names} | dict.fromkeys(
        ('velocities', 'accelerations')
    )
    with open(os.devnull, 'w') as quiet, contextlib.redirect_stdout(quiet):
        begin = time.perf_counter()
        one = Identification(robot, trajectory, float(given['cutoff']), float(given['rate']))
        one.initialize()
        one.solve(decimate=False, plotting=False, wls=True)
        seconds = time.perf_counter() - begin
    predicted = one.predicted(given['q'], given['v'], given['a'])
    np.savez(target, predicted=predicted, seconds=seconds)


if __name__ == '__main__':
    main(*sys.argv[1:])
