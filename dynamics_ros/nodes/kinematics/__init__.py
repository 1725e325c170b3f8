"""``kinematics_node``: poses, twists, transforms, forward and inverse kinematics."""
