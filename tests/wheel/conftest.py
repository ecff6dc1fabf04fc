"""These tests use the environment that `make core` makes; without one they are left out."""

import os

collect_ignore_glob = [] if os.environ.get("EYECHART_WHEEL_ENV") else ["*.py"]
