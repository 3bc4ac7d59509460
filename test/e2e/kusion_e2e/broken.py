"""What kusion/broken (test/provider/broken) does wrong, said while it runs."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from kusion_e2e.terraform import thing_id


class Whisperer:
    """Each life, the first part of the path, is told at each moment what to do; the processes that ask
    are kept, by their life. What is in `held`, as (life, moment), is told when its event is set."""

    def __init__(self):
        self.words, self.pids, self.asked, self.held = {}, {}, {}, {}
        whisperer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked = urlsplit(self.path)
                _, life, moment = asked.path.split("/")
                whisperer.pids.setdefault(life, set()).add(int(asked.query.removeprefix("pid=")))
                whisperer.asked.setdefault(life, []).append(moment)
                if (life, moment) in whisperer.held:
                    whisperer.held[life, moment].wait()
                text = whisperer.words.get(life, {}).get(moment, "").encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def address(self, life):
        return f"http://127.0.0.1:{self._server.server_address[1]}/{life}"

    def tell(self, life, **words):
        """By moment: "Start", or a method of the protocol. Instead of what was told before."""
        self.words[life] = words

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def broken(name="a", kind="broken_thing", extensions=None, **attributes):
    """A resource of it."""
    return {"id": thing_id(kind, name), "type": "Terraform", "attributes": {"name": name, **attributes},
            "extensions": {"provider": "kusion/broken", "resourceType": kind, **(extensions or {})}}
