"""Waiting for what comes by itself."""

import time


PATIENCE = 90  # seconds: the controller tries again after 30, where something failed


def eventually(check, seconds=PATIENCE, every=0.1):
    """Calls it until it gives something true, and gives that. An AssertionError in it means not
    yet; the last one is what fails in the end."""
    end = time.monotonic() + seconds
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
        time.sleep(every)
