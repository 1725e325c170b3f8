"""``contact_node``: external torques, wrenches, the contact state and its place."""
