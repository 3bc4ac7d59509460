"""The program kubectl-kusion: that of build/debug, or the one that KUSION_CLI names."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("KUSION_CLI", ROOT / "build/debug/bin/kubectl-kusion"))


def kusion(*arguments, input="", **options):
    """A run of it without a kubeconfig: what asks for a cluster fails."""
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": "/nonexistent", "HOME": "/nonexistent",
                   "LANG": "C.UTF-8", **options.pop("environment", {})}
    encoded = input if isinstance(input, bytes) else input.encode()
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=encoded, capture_output=True,
                          check=False, env=environment, timeout=60, **options)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done
