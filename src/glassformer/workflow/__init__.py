"""Whole jobs, from files to files: what the command line and the Python functions of the package run."""
