"""``dynamics_node``: gravity torques and commands, payload, inverse and forward dynamics."""
