"""`python -m streamkernel.cli`."""

import sys

from . import main

sys.exit(main())
