"""`python -m dcka`: the command line."""

import sys

from dcka.cli import main

sys.exit(main())
