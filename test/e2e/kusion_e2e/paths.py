"""Where things are in the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CRDS = ROOT / "crds"
CHART = ROOT / "charts" / "kusion-operator"
OBJECTS = ROOT / "test" / "e2e" / "objects"
CONTROLPLANE = ROOT / "hack" / "controlplane"
