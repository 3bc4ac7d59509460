"""Until when something is begun: sweeps, which run for as long as a person wants."""

import signal
import sys
import time


class Deadline:
    """Of the last begin. SIGTERM and SIGINT bring it forward to now."""

    def __init__(self, seconds, sweep, one):
        """sweep, one: words for what is said then."""
        self.end = time.monotonic() + seconds
        self.sweep, self.one = sweep, one
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.stop)

    def is_over(self):
        return time.monotonic() >= self.end

    def stop(self, number, _):
        self.end = 0
        signal.signal(number, signal.default_int_handler)  # whoever asks twice does not wait
        print(f"{self.sweep}: no {self.one} is begun any more", file=sys.stderr, flush=True)
