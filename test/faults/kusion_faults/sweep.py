"""Many lives, each with one fault, several side by side."""

import hashlib
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kusion_faults.approved_life import ApprovedLife
from kusion_faults.faults import kinds_for, slow_kinds_for
from kusion_faults.http_life import HttpLife
from kusion_faults.life import Life, positions
from kusion_faults.proxy import Proxy
from kusion_faults.room import Room, install_widgets
from kusion_faults.wide_life import RemoteLife, WideLife


# What may happen in a life, by name.
SCENARIOS = {"automatic": Life, "approval": ApprovedLife, "wide": WideLife, "remote": RemoteLife,
             "http": HttpLife}


class Sweep:
    """Uses one control plane; each thread has a room of its own at a time."""

    def __init__(self, cluster, jobs):
        cluster.install_crds()
        install_widgets(cluster)
        self.proxy = Proxy(cluster.kubeconfig)
        self._cluster = cluster
        self._rooms = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.executor = ThreadPoolExecutor(jobs)

    def close(self):
        self.executor.shutdown(cancel_futures=True)
        while not self._rooms.empty():
            self._rooms.get().remove()
        self.proxy.close()

    @contextmanager
    def room(self):
        """One that nobody else uses meanwhile. It is used again if nothing is left in it."""
        try:
            room = self._rooms.get_nowait()
        except queue.Empty:
            with self._lock:
                room = Room(self._cluster)
        try:
            yield room
        finally:
            if room.is_clean():
                self._rooms.put(room)
            else:
                room.remove()

    def live(self, position=None, kind=None, scenario="automatic"):
        """One life; gives its Result."""
        with self.room() as room:
            life = SCENARIOS[scenario](room, self.proxy, position, kind)
            result = life.run()
            result.positions = list(positions(result.requests, room, life.world))
            return result

    def positions(self, scenario="automatic"):
        """Of all requests of a life without a fault. The first life in a room is different: it
        makes what the operator keeps for good."""
        results = [self.live(scenario=scenario), self.live(scenario=scenario)]
        for result in results:
            assert not result.violations, f"without a fault: {result.violations}\n{result.log}"
        return results[-1].positions


def plan(found, seed, slow=False):
    """All lives, as pairs of position and kind, in an order by chance: that of another run, but for
    positions that only one of the two has. Slow: those alone in which something never comes."""
    kinds = slow_kinds_for if slow else kinds_for
    pairs = {(position, kind) for position in found for kind in kinds(position.split()[0])}
    return sorted(pairs, key=lambda pair: hashlib.sha256(f"{seed} {pair}".encode()).digest())
