"""Requests to an API server without a kubectl in between: for what is too large, too odd or
too frequent for it. One connection per Api and per thread's use: it is not to be shared."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from urllib.parse import urlsplit

import yaml

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

IDLE_LIMIT = 30  # seconds that a connection may rest: an API server closes it after 90


class Answer:
    """Status code, and the body as text and as an object."""

    def __init__(self, code, text):
        self.code = code
        self.text = text

    @property
    def ok(self):
        return 200 <= self.code < 300

    @property
    def object(self):
        return json.loads(self.text)

    @property
    def message(self):
        """What a Status says; the text, where it is none."""
        try:
            return json.loads(self.text).get("message", "")
        except ValueError:
            return self.text

    def must(self):
        assert self.ok, f"{self.code}: {self.message[:2000]}"
        return self

    def __repr__(self):
        return f"<{self.code} {self.message[:500]}>"


class Api:
    """An API server, as the user of a kubeconfig's current context (by client certificate),
    or as the bearer of a token."""

    def __init__(self, kubeconfig, token=None):
        with open(kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        self._address = urlsplit(cluster["server"]).netloc
        self._tls = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
        )
        self._headers = {"Accept": JSON}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        else:
            self._load_certificate(user)
        self._connection = None
        self._used = 0

    def _load_certificate(self, user):
        with tempfile.NamedTemporaryFile() as pem:
            for field in ("client-certificate-data", "client-key-data"):
                pem.write(base64.b64decode(user[field]) + b"\n")
            pem.flush()
            self._tls.load_cert_chain(pem.name)

    def request(self, method, path, body=None, content_type=JSON, impersonate=None):
        """Body: text, or an object, which is written as JSON. Impersonate: a user's name."""
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        headers = dict(self._headers)
        if impersonate:
            headers["Impersonate-User"] = impersonate
        if body is not None:
            headers["Content-Type"] = content_type
            body = body.encode()
        connection = self._connect()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.read().decode())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def _connect(self):
        now = time.monotonic()
        if now - self._used > IDLE_LIMIT:
            self.close()
        self._used = now
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._address, context=self._tls, timeout=60
            )
        return self._connection

    def get(self, path):
        return self.request("GET", path)

    def create(self, path, body):
        return self.request("POST", path, body)

    def delete(self, path):
        return self.request("DELETE", path)

    def patch(self, path, body, content_type=MERGE):
        return self.request("PATCH", path, body, content_type)

    def apply(self, path, body, manager="test"):
        """Server-side apply."""
        return self.request("PATCH", f"{path}?fieldManager={manager}&force=true", body, APPLY)

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _named(entries, name):
    return next(entry for entry in entries if entry["name"] == name)
