"""What the executables run: which components, on which nodes, in one process."""
