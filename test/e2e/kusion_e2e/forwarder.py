"""An address that leads to a server, to another one, or nowhere: a cluster that moves or goes."""

import select
import socket
import threading


class Forwarder:
    """Connections to `port` are passed on to target, a port of this machine. With None they are
    taken, and nothing is ever said."""

    def __init__(self, target=None):
        self.target = target
        self.accepted = 0
        self.listener = None
        self.port = None
        self.sockets = set()
        self.lock = threading.Lock()  # of the sockets
        self.open()

    def open(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port or 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._keep(client)
            if self.target is None:
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self._keep(server)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _keep(self, one):
        with self.lock:
            self.sockets.add(one)

    @staticmethod
    def _pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def waiting(self):
        """The connections that nobody has ended."""
        with self.lock:
            sockets = {one.fileno(): one for one in self.sockets if one.fileno() >= 0}
        poll = select.poll()
        for number in sockets:
            poll.register(number, select.POLLRDHUP)
        for number, _ in poll.poll(0):
            del sockets[number]
        return set(sockets.values())

    def cut(self):
        """Ends the connections that there are."""
        with self.lock:
            ended, self.sockets = self.sockets, set()
        for one in ended:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def lead_to(self, target):
        self.target = target
        self.cut()

    def close(self):
        """From now on, connections are refused."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
