"""``robot_simulator``: joint states of a simulated robot."""
