"""`python -m jackdaw` is the command `jackdaw`."""

import sys

from jackdaw.cli import main

sys.exit(main())
