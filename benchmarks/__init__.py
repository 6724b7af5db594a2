"""What `make bench-...` prints. Stand-ins that tests use as well are in `doubles`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "doubles"))
