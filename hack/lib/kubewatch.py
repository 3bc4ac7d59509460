"""Watches, for the demo and the benchmarks: the Api of the end-to-end tests, and what follows a
collection with it."""

import http.client
import json
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
from kusion_e2e.api import Api  # noqa: E402

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"  # what `kubectl get` asks for
TIMEOUT = 600  # seconds that a watch may be silent
PATIENCE = 30  # seconds in which a kind that was just installed must be served


class WatchApi(Api):
    """An Api that can also watch, each watch on a connection of its own."""

    def list(self, path):
        """A collection, perhaps of a kind that came just now (429: storage is initializing)."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.get(path)
            if answer.code not in (404, 429) or time.monotonic() > end:
                return answer.must().object
            time.sleep(0.05)

    def watch(self, path, version, accept="application/json"):
        """(type, object) of each event since a version, until the server ends it."""
        connection = http.client.HTTPSConnection(self._address, context=self._tls, timeout=TIMEOUT)
        try:
            mark = "&" if "?" in path else "?"
            query = f"{mark}watch=1&allowWatchBookmarks=true&resourceVersion={version}"
            connection.request("GET", path + query, headers={**self._headers, "Accept": accept})
            for line in connection.getresponse():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise OSError(event["object"].get("message", "the watch failed"))
                yield event["type"], event["object"]
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()


class Watch(threading.Thread):
    """Calls take(type, object) for what happens in one collection, from now on, on a thread of
    its own, for as long as the process lives."""

    def __init__(self, kubeconfig, path, take, accept="application/json"):
        super().__init__(daemon=True)
        self._api = WatchApi(kubeconfig)
        self._path = path
        self._take = take
        self._accept = accept
        self._version = self._api.list(path)["metadata"]["resourceVersion"]
        self.start()

    def run(self):
        while True:
            try:
                for kind, item in self._api.watch(self._path, self._version, self._accept):
                    self._version = item["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self._take(kind, item)
            except OSError:
                time.sleep(0.2)
