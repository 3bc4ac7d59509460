"""From manifests to Specs, as a person makes them: with kubectl kusion convert."""

import subprocess

import yaml

from kusion_e2e.controller import cli_folder

MOST_SPECS = 99  # of one set


def parts_of(files, namespace):
    """The resources of each Spec. As few Specs as it can split the set into."""
    for count in range(1, MOST_SPECS + 1):
        made = subprocess.run([f"{cli_folder()}/kubectl-kusion", "convert", "--name", "set", "--namespace", namespace,
                               "--order", "none", "--split", str(count), *files],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            specs = yaml.load_all(made.stdout, yaml.CSafeLoader)
            return [one["spec"]["resources"] for one in specs]
        if "the limit is" not in made.stderr:
            break
    raise OSError(made.stderr)
