"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DRIVER = ROOT / "build/debug/bin/terraform_driver"
