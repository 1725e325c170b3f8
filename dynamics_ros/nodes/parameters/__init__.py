"""Parameters: how they are declared and checked, and those of each node."""
