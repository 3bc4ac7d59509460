"""A REST server of our own, that things live in, and resources of type HTTP for it.

It has the interface of the tests' own runtime (cloud.py), so that what that has to withstand is
tried over HTTP as well. A thing has an id that the server gives it, and a name.

    POST /things            makes one, each time; PUT, DELETE, GET /things/ID
    GET /things?name=NAME   a list of those of that name
    PUT /named/NAME         makes one of a name, once: 409 if it is there; PATCH, DELETE, GET

Every request needs the token. Faults by the thing's name, until they are taken back:

    refused   422, nothing is done          lost      it is done, and the answer never comes
    late      it is done after the client   failed    it is done, and the answer is 500
              has given up                  nothing   500, and nothing is done
    half      an update changes only x, then 500
    twice     what is sent arrives twice; the answer is that of the second
"""

import json
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kusion_e2e.cloud import address_book, addresses, deployment  # noqa: F401

TOKEN = "rest-token-of-the-tests"
SECRET = "rest"
UPDATES = ("PUT", "PATCH")
HIDDEN = ("attributes",)


def thing_id(name):
    return f"cloud:thing:{name}"


def reference(name, field):
    return f"$kusion_path.{thing_id(name)}.{field}"


class Rest:
    """The server, and what is done with it."""

    def __init__(self):
        self.lock = threading.RLock()
        self.made, self.lines, self.requests, self.bad = {}, [], [], {}
        self.is_hurried = False
        self.late = 4  # seconds
        self.token, self.credentials = TOKEN, {"bearerFrom": {"secret": SECRET, "key": "token"}}
        self.etags = True
        self.changed = {}  # by name: what the server makes of it: {"status": "pending"}
        handler = type("Handler", (Handler,), {"rest": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def flags(self):
        return ["--http-host", f"http://127.0.0.1:{self.port}=127.0.0.1"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # As of Cloud.

    def things(self):
        with self.lock:
            return {id: json.loads(json.dumps(one)) for id, one in self.made.items()}

    def only(self, name):
        one, = [one for one in self.things().values() if one["name"] == name]
        return one

    def log(self):
        with self.lock:
            return list(self.lines)

    def forget_log(self):
        with self.lock:
            self.lines.clear()
            self.requests.clear()

    def hurry(self):
        self.is_hurried = True

    def fault(self, name, what):
        with self.lock:
            if what:
                self.bad[name] = what
            else:
                self.bad.pop(name, None)

    def faults(self):
        return list(self.bad)

    def delete(self, id):
        with self.lock:
            del self.made[id]

    def secrets(self):
        return [f"secret-{id}" for id in self.things()] + [TOKEN]

    def note(self, line):
        with self.lock:
            self.lines.append(line)

    # What is done with a thing.

    def shown(self, one):
        return {**one["attributes"], **{key: one[key] for key in one if key not in HIDDEN}}

    def new(self, name, attributes):
        id = uuid.uuid4().hex[:16]
        with self.lock:
            self.made[id] = {"id": id, "name": name, "attributes": attributes, "revision": 1,
                             "status": "ready", "address": f"{id}.cloud", "secret": f"secret-{id}",
                             **self.changed.get(name, {})}
        return self.made[id]

    def named(self, name):
        with self.lock:
            found = [one for one in self.made.values() if one["name"] == name]
        return found[0] if found else None

    # Resources.

    def connection(self):
        return {"url": self.url, **self.credentials}

    def thing(self, name, extensions=None, depends_on=(), **attributes):
        """One that is known by its id alone."""
        extensions = dict(extensions or {})
        region = extensions.pop("region", None)
        made = {
            "connection": self.connection(),
            "id": "/id",
            "parameters": {"name": name},
            "read": {"path": "/things/{id}"},
            "create": {"method": "POST", "path": "/things", "timeout": "150s",
                       "body": {"$attributes": "", "name": {"$parameter": "name"}}},
            "update": {"method": "PUT", "path": "/things/{id}"},
            "delete": {"method": "DELETE", "path": "/things/{id}"},
            "computed": ["/address", "/secret", "/revision"],
            "immutable": ["/fixed", "/swapped"],
            "sensitive": ["/secret", "/password"],
            **extensions,
        }
        if region:
            made["parameters"]["region"] = region
            made["create"]["path"] = "/things?region={region}"
        if "swapped" in attributes:
            made["lifecycle"] = {"createBeforeDestroy": True}
        resource = {"id": thing_id(name), "type": "HTTP", "attributes": attributes, "extensions": made}
        if depends_on:
            resource["dependsOn"] = list(depends_on)
        return resource

    def found(self, name, **attributes):
        """One that has an id, and is found by its name in a list."""
        resource = self.thing(name, **attributes)
        resource["attributes"]["name"] = name
        resource["extensions"]["read"] = {"path": "/things?name={name}", "select": "/things",
                                          "where": {"/name": "/name"}}
        resource["extensions"]["create"]["timeout"] = "2s"
        return resource

    def placed(self, name, **attributes):
        """One that is known by its path."""
        path = "/named/{name}"
        return {"id": thing_id(name), "type": "HTTP", "attributes": attributes, "extensions": {
            "connection": self.connection(), "parameters": {"name": name},
            "read": {"path": path},
            "create": {"method": "PUT", "path": path, "timeout": "2s"},
            "update": {"method": "PATCH", "path": path},
            "delete": {"method": "DELETE", "path": path}}}

    def secret(self, cluster, namespace, token=TOKEN):
        """Makes the Secret with the token."""
        cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": {"token": token},
                                  "metadata": {"name": SECRET, "namespace": namespace}}))


class Lost(Exception):
    """The answer does not come."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rest = None

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=None, etag=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if etag and self.rest.etags:
            self.send_header("ETag", etag)
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = json.loads(self.rfile.read(length)) if length else None
        with self.rest.lock:
            self.rest.requests.append((self.command, self.path, dict(self.headers), self.body))
        if self.headers.get("Authorization") != f"Bearer {self.rest.token}":
            self.answer(401, {"error": "who are you?", "got": self.headers.get("Authorization")})
            return
        url = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(part) for part in url.path.split("/")[1:]]
        try:
            self.answer(*self.route(parts, urllib.parse.parse_qs(url.query)))
        except Lost:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def route(self, parts, query):
        rest = self.rest
        if parts == ["things"] and self.command == "GET":
            names = query.get("name", [])
            return 200, {"things": [rest.shown(one) for one in rest.things().values()
                                    if not names or one["name"] in names]}
        if parts == ["things"] and self.command == "POST":
            name = self.body.pop("name", "?")
            return self.under_faults(name, lambda: self.create(name))
        if parts[0] == "things":
            one = rest.made.get(parts[1])
        else:
            one = rest.named(parts[1])
            if self.command == "PUT":
                return self.under_faults(parts[1], lambda: (409, {"error": "exists"}) if rest.named(parts[1])
                                         else self.create(parts[1]))
        if not one:
            return 404, {"error": "not found"}
        etag = f'"{one["id"]}-{one["revision"]}"'
        if self.command == "GET":
            return 200, rest.shown(one), etag
        if self.headers.get("If-Match", etag) != etag:
            return 412, {"error": "precondition failed"}
        if self.command in UPDATES:
            return self.under_faults(one["name"], lambda: self.update(one))
        return self.under_faults(one["name"], lambda: self.remove(one))

    def under_faults(self, name, change):
        fault = self.rest.bad.get(name)
        if fault == "refused":
            return 422, {"error": "it is refused"}
        if fault == "nothing":
            return 500, {"error": "it failed"}
        if fault == "late":
            time.sleep(self.rest.late)
        if fault == "twice":
            change()
        answer = change()
        if fault in ("lost", "late"):
            raise Lost
        return (500, {"error": "it failed, and was done"}) if fault == "failed" else answer

    def create(self, name):
        self.rest.note(f"begin {name}")
        self.wait_for((self.body or {}).get("delay"))
        one = self.rest.new(name, self.body or {})
        self.rest.note(f"create {name}")
        return 201, self.rest.shown(one)

    def wait_for(self, delay):
        end = time.monotonic() + (float(delay.rstrip("s")) if delay else 0)
        while time.monotonic() < end and not self.rest.is_hurried:
            time.sleep(0.02)

    def update(self, one):
        attributes = {key: value for key, value in (self.body or {}).items() if key != "name"}
        is_half = self.rest.bad.get(one["name"]) == "half"
        with self.rest.lock:
            if is_half:
                attributes = {**one["attributes"], "x": attributes.get("x")}
            elif self.command == "PATCH":
                attributes = {**one["attributes"], **attributes}
            one["attributes"] = attributes
            one["revision"] += 1
        self.rest.note(f"update {one['name']}")
        return (500, {"error": "it was changed in part"}) if is_half else (200, self.rest.shown(one))

    def remove(self, one):
        with self.rest.lock:
            self.rest.made.pop(one["id"], None)
        self.rest.note(f"delete {one['name']}")
        return 204, None
