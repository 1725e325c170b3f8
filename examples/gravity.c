// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
/* The torques that hold a UR5e where it is, without ROS and without Python. */
#include <stdio.h>

#include "ur5e_kernels.h"

int main(void)
{
  const double q[UR5E_NQ] = {0.0, -1.0, 1.2, -0.5, 0.3, 0.0};
  double torques[UR5E_NV];

  ur5e_gravity(q, torques);
  for (int i = 0; i < UR5E_NV; ++i) {
    printf("%s %.3f Nm\n", ur5e_joint_names[i], torques[i]);
  }
  return 0;
}
