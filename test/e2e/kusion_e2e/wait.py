"""Waiting for what comes by itself."""

import time


PATIENCE = 90  # seconds: the controller tries again after 30, where something failed
SELDOM = 0.4  # seconds


def eventually(check, seconds=PATIENCE, every=0.1):
    """Calls it until it gives something true, and gives that. An AssertionError in it means not
    yet; the last one is what fails in the end. It is called every so many seconds; more seldom, if it takes long:
    each call is work for an API server that is shared."""
    begun = time.monotonic()
    end = begun + seconds
    while True:
        try:
            result = check()
            if result:
                return result
            failure = None
        except AssertionError as error:
            failure = error
        if time.monotonic() > end:
            raise failure or AssertionError(f"not within {seconds} s; last: {result!r}")
        time.sleep(max(every, min(SELDOM, (time.monotonic() - begun) / 20)))
