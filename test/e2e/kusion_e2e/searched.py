"""All that the operator writes, searched for secrets that were planted (canary.py): the log, metrics, events,
statuses, Releases, ConfigMaps, arguments and environments of processes, files of providers."""

import base64
import gzip
import json
import os
import socket
import subprocess
import urllib.parse
import urllib.request
import zlib

from kusion_e2e.canary import Canary
from kusion_e2e.controller import STATE, Controller


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def searched_operator(cluster, folder, flags, **environment):
    """One whose metrics, log and files can be searched. Its providers have the folder."""
    port = free_port()
    made = Controller(cluster, environment={"TMPDIR": str(folder), **environment},
                      flags=[*flags, "--metrics-bind-address", f"127.0.0.1:{port}", "--log-level", "debug"])
    made.folder, made.metrics = folder, f"http://127.0.0.1:{port}/metrics"
    return made.wait_leading()


class Canaries:
    """By the name of the place."""

    def __init__(self):
        self.all = {}

    def __call__(self, name):
        """A word with all that is quoted in JSON and in Go, or one without."""
        made = self.all[name] = Canary(plain=len(self.all) % 2 == 0)
        return made.plain or made.data

    def data(self, name):
        """For the data of a Secret: what references to it give."""
        made = self.all[name] = Canary(plain=len(self.all) % 2 == 0)
        return made.data


def inflated(data):
    """The bytes themselves, and what they hold."""
    texts = [data]
    for inflate in (gzip.decompress, zlib.decompress, lambda one: zlib.decompress(one, -15)):
        try:
            texts.append(inflate(data))
        except (OSError, EOFError, zlib.error):
            pass
    return "\n".join(one.decode(errors="replace") for one in texts)


def maps(cluster, tenant):
    for namespace in (STATE, tenant):
        for one in cluster.api.get(f"/api/v1/namespaces/{namespace}/configmaps").must().object["items"]:
            parts = [base64.b64decode(part) for part in one.get("binaryData", {}).values()]
            for text in one.get("data", {}).values():
                parts.append(text.encode())
                try:
                    parts.append(base64.b64decode(text, validate=True))
                except ValueError:
                    pass
            yield f"ConfigMap {one['metadata']['name']}", json.dumps(one) + "".join(map(inflated, parts))


def processes(operator):
    """Arguments and environments. The environment of a provider is where the values of contextFrom are."""
    pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(operator.process.pid)],
                          capture_output=True, text=True).stdout.split()
    for pid in [str(operator.process.pid), *pids]:
        for name in ("cmdline", "environ"):
            try:
                with open(f"/proc/{pid}/{name}", errors="replace") as file:
                    yield f"/proc/PID/{name}", file.read()
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                pass  # it has just ended


def files(operator):
    for folder, _, names in os.walk(operator.folder):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    yield f"file {name}", name + inflated(file.read())


def written(operator, tenant):
    """Where it is, and what: all that is no Secret, and no text that the user wrote."""
    cluster = operator.cluster
    for line in operator.log.read_text().splitlines():
        yield "the log", line
    with urllib.request.urlopen(operator.metrics) as answer:
        yield "metrics", answer.read().decode()
    for namespace in (STATE, tenant):
        yield "events", cluster.api.get(f"/api/v1/namespaces/{namespace}/events").must().text
    of_us = f"/apis/api.kusion.io/v1/namespaces/{tenant}"
    for one in cluster.api.get(f"{of_us}/specs").must().object["items"]:
        yield "the Spec's status", json.dumps([one.get("status"), one["metadata"]])
    for one in cluster.api.get(f"{of_us}/releases").must().object["items"]:
        yield "a Release", json.dumps(one)
    for source in (maps(cluster, tenant), processes(operator), files(operator)):
        yield from source


def forms(canary):
    encoded = {urllib.parse.quote(text, safe="") for text in (canary.data, canary.plain) if text}
    return canary.forms() | encoded


def leaks(operator, tenant, canaries, seen):
    """Places and canaries. seen: texts that were searched before."""
    all_forms = {form: name for name, one in canaries.all.items() for form in forms(one)}
    found = set()
    for place, text in written(operator, tenant):
        if (place, text) in seen:
            continue
        seen.add((place, text))
        found |= {(place, all_forms[form], form, around(text, form)) for form in all_forms if form in text
                  and not (place == "/proc/PID/environ" and all_forms[form] == "contextFrom")}
    return found


def around(text, form):
    at = text.find(form)
    return text[max(at - 200, 0):at + len(form) + 40]


class Search:
    def __init__(self, operator, tenant):
        self.operator, self.tenant, self.canaries, self.seen = operator, tenant, Canaries(), set()
        self.found = set()

    def now(self):
        self.found |= leaks(self.operator, self.tenant, self.canaries, self.seen)
        assert not self.found, sorted(self.found)[:12]
