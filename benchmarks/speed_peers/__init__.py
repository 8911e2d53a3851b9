"""The contestants of ``benchmarks.train_speed``: each is a process in an environment of its own."""
