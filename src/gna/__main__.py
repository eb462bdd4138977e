"""`python -m gna` is `gna`."""

from gna.cli.main import main

main()
