"""``impedance_controller_node``: torques that have the tool of an arm behave as on springs."""
