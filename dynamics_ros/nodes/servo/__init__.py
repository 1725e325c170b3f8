"""``cartesian_servo_node``: velocities towards a target, within limits."""
