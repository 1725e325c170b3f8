"""How a process of nodes runs: its entry, signals, executor, guarded and managed nodes."""
