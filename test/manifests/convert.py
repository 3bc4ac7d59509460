"""From manifests to Specs, as a person makes them: with hack/tospec."""

import subprocess

import yaml

from kusion_e2e.paths import ROOT

TOSPEC = ROOT / "hack" / "tospec"
MOST_SPECS = 99  # of one set


def parts_of(files, namespace):
    """The resources of each Spec. As few Specs as hack/tospec can split the set into."""
    for count in range(1, MOST_SPECS + 1):
        made = subprocess.run([TOSPEC, "--name", "set", "--namespace", namespace,
                               "--split", str(count), *files],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            specs = yaml.load_all(made.stdout, yaml.CSafeLoader)
            return [one["spec"]["resources"] for one in specs]
        if "the limit is" not in made.stderr:
            break
    raise OSError(made.stderr)
