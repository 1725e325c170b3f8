"""The demonstration: a simulated robot, the real nodes, and a client that checks what they say."""
