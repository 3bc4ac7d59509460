"""A person's shell, and the commands that the pages of docs/ tell a person to type."""

import os
import subprocess
from pathlib import Path

from kusion_e2e.cluster import tool
from kusion_e2e.controller import cli_folder


def type_in(cluster, text, directory=None, stderr=subprocess.PIPE):
    """With the control plane's kubectl and helm, and this checkout's kubectl-kusion, as its administrator."""
    tools = {str(Path(tool(name)).parent) for name in ("kubectl", "helm")} | {str(cli_folder())}
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig),
                   "PATH": ":".join([*tools, os.environ["PATH"]])}
    return subprocess.run(["bash", "-c", text], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=stderr, timeout=180, check=False)
