"""`python -m dcka.cli`: the same as `dcka`."""

import sys

from dcka.cli.entry import main

sys.exit(main())
