"""Which nodes and components each executable runs in its process.

Imports the rooms of the nodes; nothing imports it.
"""
