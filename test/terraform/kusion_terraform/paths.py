"""Where things are."""

import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MEMORY = Path("/dev/shm")  # where a sync takes no time
DRIVER = ROOT / "build/debug/bin/terraform_driver"


def new_folder():
    return Path(tempfile.mkdtemp(prefix="kusion-terraform-", dir=MEMORY if MEMORY.is_dir() else None))
