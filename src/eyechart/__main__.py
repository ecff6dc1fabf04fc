"""``python -m eyechart`` is the command."""

import sys

from eyechart.cli.main import main

sys.exit(main())
