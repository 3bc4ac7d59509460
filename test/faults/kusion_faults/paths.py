"""Where things are, and where the end-to-end tests' package comes from."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROXY = os.environ.get("KUSION_FAULTS_PROXY", str(ROOT / "build" / "faults" / "proxy"))

sys.path.insert(0, str(ROOT / "test" / "e2e"))
