"""The service that has the objects of kusion/probe and kusion/legacy, with a log of what it was asked.

Each world, the first part of the path, is a service of its own:
  POST /WORLD/KIND/NAME       makes KIND/NAME/N, the N-th of that name
  GET, PUT, DELETE /WORLD/KIND/NAME/N

A request can be held (World.hold): the test is told when it has come, does what it has to at just that
moment, and lets it go on.
"""

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hold:
    """One request, of a method for the objects of a name. when: "before" it is done, or "after" it,
    before it is answered."""

    def __init__(self, method, name, when):
        self.method, self.name, self.when = method, name, when
        self._come, self._goes_on, self._is_lost = threading.Event(), threading.Event(), False

    def wait(self, seconds=60):
        """Until the request has come."""
        assert self._come.wait(seconds), f"no {self.method} for {self.name}"

    def release(self, lost=False):
        """lost: it is never done."""
        self._is_lost = lost
        self._goes_on.set()

    def stop(self):
        """Called by the server. Gives whether the request goes on."""
        self._come.set()
        self._goes_on.wait()
        return not self._is_lost


class World:
    def __init__(self):
        self.objects = {}   # by id
        self.log = []       # (method, id), of changes
        self._made = defaultdict(int)
        self._holds = []

    def hold(self, method, name, when):
        """Of the next such request."""
        self._holds.append(Hold(method, name, when))
        return self._holds[-1]

    def take_hold(self, method, place):
        for hold in self._holds:
            if (hold.method, hold.name) == (method, place.split("/")[1]):
                self._holds.remove(hold)
                return hold
        return None

    def put(self, place, body):
        """An object that somebody else made."""
        self._made["/".join(place.split("/")[:2])] += 1
        self.objects[place] = body

    def do(self, method, place, body):
        """Status and answer."""
        if method == "POST":
            self._made[place] += 1
            place = f"{place}/{self._made[place]}"
            self._change(method, place, body)
            return 200, {"ID": place}
        if place not in self.objects:
            return 404, {}
        if method == "GET":
            return 200, self.objects[place]
        self._change(method, place, body)
        return 200, {}

    def _change(self, method, place, body):
        self.log.append((method, place))
        if method == "DELETE":
            del self.objects[place]
        else:
            self.objects[place] = body

    def of(self, name):
        """Objects of that name, by id."""
        return {place: one for place, one in self.objects.items() if place.split("/")[1] == name}

    def changes(self, name):
        """(method, id) of objects of that name."""
        return [one for one in self.log if one[1].split("/")[1] == name]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A provider that is ended hangs up."""


class Backend:
    def __init__(self):
        self.worlds = defaultdict(World)
        self.lock = threading.Lock()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                _, world, place = self.path.split("/", 2)
                with backend.lock:
                    hold = backend.worlds[world].take_hold(self.command, place)
                if hold and hold.when == "before" and not hold.stop():
                    self.close_connection = True
                    return
                with backend.lock:
                    status, answer = backend.worlds[world].do(
                        self.command, place, json.loads(body or "null"))
                    text = json.dumps(answer).encode()
                if hold and hold.when == "after":
                    hold.stop()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def address(self, world):
        return f"http://127.0.0.1:{self._server.server_address[1]}/{world}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
