"""A server that nobody may reach, and resources of type HTTP that would."""

import socket
import threading
import time

from kusion_e2e.rest import thing_id


class Canary:
    """An inner server. It must never be connected to."""

    def __init__(self, address="127.0.0.1", port=0):
        self.visits = []
        self.socket = socket.create_server((address, port))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.visits.append(time.monotonic())
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n"
                                   b'{"secret":"inner-canary"}')

    def close(self):
        self.socket.close()


def one(name, url, path="/x", **extensions):
    return {"id": thing_id(name), "type": "HTTP", "attributes": {"x": "1"}, "extensions": {
        "connection": {"url": url}, "read": {"path": path}, "create": {"method": "POST", "path": path},
        "delete": {"method": "DELETE", "path": path}, **extensions}}
