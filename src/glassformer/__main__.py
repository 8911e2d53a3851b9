"""``python -m glassformer`` is the command ``glassformer``."""

from glassformer.cli import main

main()
