"""The contestants of ``benchmarks.decode_speed``, each in a process of its own."""
