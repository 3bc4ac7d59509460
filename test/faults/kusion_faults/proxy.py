"""The proxy (test/faults/proxy) as a process, and its lanes."""

import base64
import http.client
import json
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import yaml

from kusion_faults.paths import PROXY

CONTROL_PATIENCE = 90  # seconds: a request for a rule waits on purpose


class Proxy:
    """One process for all lanes. It ends with the test: its stdin is a pipe of ours."""

    def __init__(self, kubeconfig):
        config = yaml.safe_load(Path(kubeconfig).read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        self.directory = tempfile.TemporaryDirectory(prefix="kusion-faults-")
        files = {"ca": cluster["certificate-authority-data"],
                 "certificate": user["client-certificate-data"], "key": user["client-key-data"]}
        command = [PROXY, "--server", cluster["server"]]
        for name, data in files.items():
            path = self.file(name)
            path.write_bytes(base64.b64decode(data))
            command += [f"--{name}", str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self._control = urlsplit(json.loads(self.process.stdout.readline())["control"]).netloc
        self._local = threading.local()

    def file(self, name):
        return Path(self.directory.name) / name

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.directory.cleanup()

    def request(self, method, path, body=None):
        """To the control API; gives the answer's text."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self._control, timeout=CONTROL_PATIENCE)
            self._local.connection = connection
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read().decode()
        assert response.status == 200, f"{method} {path}: {response.status} {text}"
        return text

    def authority(self, name):
        """The certificate of a CA, as PEM."""
        return self.request("GET", f"/authorities/{name}")

    def lane(self, **options):
        return Lane(self, **options)


class Lane:
    """What one operator talks to. Rules are made by `rule` of faults.py."""

    def __init__(self, proxy, authority="ca", passes=False, user=None):
        """Passes: requests count as those of the bearer token that the operator sends, not of the
        proxy's administrator. User: that of the kubeconfig."""
        self._proxy = proxy
        made = json.loads(proxy.request("POST", "/lanes", {"authority": authority, "passes": passes}))
        self.name, self.server = made["name"], made["server"]
        self.ca = proxy.file(f"lane-{self.name}.ca")
        self.trust(authority)
        self.kubeconfig = proxy.file(f"lane-{self.name}.kubeconfig")
        self.kubeconfig.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "lane",
            "clusters": [{"name": "lane", "cluster": {
                "server": self.server, "certificate-authority": str(self.ca)}}],
            "users": [{"name": "lane", "user": user or {"token": "of-nobody"}}],
            "contexts": [{"name": "lane", "context": {"cluster": "lane", "user": "lane"}}]}))

    def _request(self, method, path, body=None):
        return self._proxy.request(method, f"/lanes/{self.name}/{path}", body)

    def trust(self, *authorities):
        """Writes the CA file of the kubeconfig anew, in one step."""
        new = self.ca.with_suffix(".new")
        new.write_text("".join(map(self._proxy.authority, authorities)))
        new.rename(self.ca)

    def change_authority(self, name):
        """The server's certificate comes from another CA from now on."""
        self._request("PUT", "authority", {"authority": name})

    def cut(self):
        """Resets all connections of the operator."""
        self._request("POST", "cut")

    def rules(self, *rules):
        """Sets all rules; requests that earlier ones hold go on."""
        self._request("PUT", "rules", list(rules))

    def add_rules(self, *rules):
        """Of several that match a request, the first one whose turn it is counts."""
        self._request("POST", "rules", list(rules))

    def fired(self, name, count=0, seconds=0):
        """Waits until so many requests have come to the point of the rule's fault. Gives how many
        have."""
        query = urlencode({"fired": count, "seconds": seconds})
        return json.loads(self._request("GET", f"rules/{name}?{query}"))["fired"]

    def wait_fired(self, name, count=1, seconds=60):
        fired = self.fired(name, count, seconds)
        assert fired >= count, f"rule {name}: {fired} of {count} requests within {seconds} s"

    def release(self, name, outcome="pass"):
        self._request("POST", f"rules/{name}/release?outcome={outcome}")

    def requests(self, since=0):
        """The records (record.go) from a number on."""
        return json.loads(self._request("GET", f"requests?since={since}"))

    def close(self):
        self._proxy.request("DELETE", f"/lanes/{self.name}")
        self.ca.unlink()
        self.kubeconfig.unlink()
