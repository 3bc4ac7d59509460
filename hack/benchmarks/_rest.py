"""A REST server that answers after 20 ms, as one that is not on this machine does, as a process of its own, and a
client without an operator: for the benchmark http. Things are at /things/NAME; nothing is kept on disk.

    python3 _rest.py serve      prints its port
    python3 _rest.py loop PORT COUNT PHASE
                                the requests that the phase takes at least, ten at once; prints the seconds"""

import asyncio
import sys
import time

AT_ONCE = 10
LATENCY = 0.02  # seconds


class Server(asyncio.Protocol):
    things = {}

    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while True:
            head, found, rest = self.data.partition(b"\r\n\r\n")
            if not found:
                return
            length = 0
            for line in head.split(b"\r\n")[1:]:
                if line[:15].lower() == b"content-length:":
                    length = int(line[15:])
            if len(rest) < length:
                return
            body, self.data = rest[:length], rest[length:]
            method, path, _ = head.split(b"\r\n", 1)[0].split(b" ")
            answer = self.answer(method, path, body)
            asyncio.get_running_loop().call_later(LATENCY, self.transport.write, answer)

    def answer(self, method, path, body):
        things = self.things
        if method == b"GET":
            body = things.get(path)
            status = b"200 OK" if body else b"404 Not Found"
        elif method == b"PUT":
            things[path] = body
            status = b"201 Created"
        else:
            status, body = b"204 No Content", b""
            things.pop(path, None)
        body = body or b""
        return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


async def serve():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def request(reader, writer, method, path, body=b""):
    writer.write(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                 % (method, path, len(body), body))
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            await reader.readexactly(int(line[15:]))


PHASES = {"apply": (b"GET", b"PUT", b"GET"), "no change": (b"GET",), "destroy": (b"GET", b"DELETE", b"GET")}


async def work(port, numbers, methods):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        for method in methods:
            body = b'{"name": "loop-%d", "text": "the quick brown fox"}' % number if method == b"PUT" else b""
            await request(reader, writer, method, b"/things/loop-%d" % number, body)
    writer.close()


async def loop(port, count, phase):
    begun = time.monotonic()
    await asyncio.gather(*(work(port, range(first, count, AT_ONCE), PHASES[phase]) for first in range(AT_ONCE)))
    print(time.monotonic() - begun)


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1] == "serve" else loop(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
