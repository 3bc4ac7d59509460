"""Where things are, and where the end-to-end tests' package comes from."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

sys.path.insert(0, str(ROOT / "test" / "e2e"))
