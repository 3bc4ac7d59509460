"""The chart, as a test installs it."""

from kusion_e2e.paths import CHART

OWN = "kusion-system"
RELEASE = "kusion"
NAME = "kusion-kusion-operator"
TEAM = "team-a"
OTHER = "team-b"


class Chart:
    """A release of the chart in a cluster, taken away with its kinds at the end."""

    def __init__(self, cluster):
        self.cluster = cluster

    def helm(self, verb, *arguments, check=True):
        return self.cluster.helm(verb, RELEASE, *arguments, "--namespace", OWN, check=check)

    def install(self, *arguments, chart=CHART, check=True):
        return self.helm("install", chart, "--wait=false", *arguments, check=check)

    def upgrade(self, *arguments, chart=CHART):
        return self.helm("upgrade", chart, "--wait=false", *arguments)

    def uninstall(self):
        return self.helm("uninstall", "--wait")

    def remove_all(self):
        self.helm("uninstall", "--ignore-not-found", "--wait")
        self.cluster.delete_crds()
