"""The recorder's own modules are imported by their plain names, as they import each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
