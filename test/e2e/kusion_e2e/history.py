"""What happened to the objects of a collection, in the order in which it did."""

import json
from collections import Counter

from kusion_e2e.states import spec_namespace

REPLAY = 3  # seconds in which an API server tells of what is past


class History:
    """Of one collection, from now on; the API server keeps it for some minutes."""

    def __init__(self, cluster, path, of=None):
        """Of: a namespace; then only what the controller keeps of its Specs."""
        self._api, self._path, self._of = cluster.api, path, of
        self._since = self._api.get(path).must().object["metadata"]["resourceVersion"]

    def events(self):
        query = f"watch=1&resourceVersion={self._since}&timeoutSeconds={REPLAY}"
        lines = self._api.get(f"{self._path}?{query}").must().text.splitlines()
        events = [json.loads(line) for line in lines]
        assert not any(event["type"] == "ERROR" for event in events), events[-1]
        return [event for event in events if self._of in (None, spec_namespace(event["object"]))]

    def counts(self, type):
        """How often each name was ADDED, MODIFIED or DELETED."""
        return Counter(event["object"]["metadata"]["name"]
                       for event in self.events() if event["type"] == type)
