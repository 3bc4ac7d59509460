"""Rules for the proxy (test/faults/proxy/rule.go), in a few words, and the kinds of fault that the
sweep tries at each request."""

import json
import re


def rule(name, do="", at="after", verb="", path="", contains="", skip=0, times=1, **fault):
    """Contains: a regular expression for the body. Times: how many requests; -1: all. Fault:
    further fields of it."""
    return {"name": name, "verb": verb, "path": path, "body": contains, "skip": skip, "times": times,
            "fault": {"at": at, "do": do, **fault}}


REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound",
           405: "MethodNotAllowed", 406: "NotAcceptable", 409: "Conflict", 410: "Expired",
           415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests",
           500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


def status(code):
    """The Status that an API server answers with."""
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {},
                       "status": "Success" if code < 300 else "Failure",
                       "message": "a fault of the test", "reason": REASONS.get(code, ""),
                       "code": code})


def says(code, at="before", **headers):
    """An answer with a Status."""
    return {"do": "answer", "at": at, "code": code, "body": status(code), "headers": headers}


def odd(body, at="after"):
    return {"do": "answer", "at": at, "code": 200, "body": body}


ANOTHER = json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                      "metadata": {"name": "another", "namespace": "default", "resourceVersion": "1",
                                   "uid": "00000000-0000-0000-0000-000000000000"}})
PAGE = "<html><body>502 Bad Gateway</body></html>"

BODIES = {"empty": "", "braces": "{}", "null": "null", "list": "[]", "another": ANOTHER,
          "status-200": status(200), "garbage": PAGE}

# By name: what happens to one request. "kill" is when the process is killed: see kills().
EVERY = {
    "drop-before": {"do": "drop", "at": "before"},
    "drop-after": {"do": "drop", "at": "after"},
    "reset-before": {"do": "reset", "at": "before"},
    "reset-after": {"do": "reset", "at": "after"},
    "delay": {"do": "delay", "at": "before", "seconds": 1},
    "delay-detached": {"do": "delay", "at": "before", "seconds": 1, "detached": True},
    "delay-answer": {"do": "delay", "at": "after", "seconds": 1},
    **{f"{code}": says(code) for code in REASONS if code != 429},
    **{f"{code}-after": says(code, "after") for code in (409, 410, 500, 503, 504)},
    "429": says(429, **{"Retry-After": "1"}),
    "truncated": {"do": "truncate", "at": "after"},
    "half": {"do": "half", "at": "after"},
    **{f"odd-{name}": odd(body) for name, body in BODIES.items()},
    "goaway": {"do": "goaway", "at": "after"},
    "kill-before": {"do": "hold", "at": "before"},
    "kill-between": {"do": "hold", "at": "after"},
    "kill-after": {"do": "", "at": "after"},
}
STALE = {"stale": {"do": "stale", "at": "after"}}
# Those that take a minute: a request that never gets an answer.
SLOW = {
    "hang-before": {"do": "hang", "at": "before"},
    "hang-after": {"do": "hang", "at": "after"},
}
STORMS = {f"{code}-five-times": {**says(code), "times": 5} for code in (409, 500, 503)}
WATCH = {
    "repeat": {"do": "repeat"}, "late": {"do": "late", "seconds": 1}, "cut": {"do": "cut"},
    "gone": {"do": "gone"}, "watch-garbage": {"do": "garbage"}, "torn": {"do": "torn"},
    "cut-second": {"do": "cut", "fromEvent": 1}, "gone-second": {"do": "gone", "fromEvent": 1},
}
# Events that never come are seen only at the next look, or when the watch ends.
WATCH_SLOW = {"swallow": {"do": "swallow", "onlyOneEvent": True}, "silent": {"do": "silent"}}

ALL = {**EVERY, **STALE, **SLOW, **STORMS, **WATCH, **WATCH_SLOW}
KILLS = ("kill-before", "kill-between", "kill-after")


# A read has no commit: before it and after it are the same.
OF_WRITES = {name for name in EVERY if name.endswith("-after")} | {"delay-detached", "kill-between"}


def kinds_for(verb):
    """The names of the kinds that are tried at a request."""
    if verb == "WATCH":
        general = ("drop-before", "reset-before", "400", "401", "403", "404", "410", "500", "503",
                   "429", "kill-before")
        return [*general, *WATCH]
    kinds = [*EVERY, *STORMS]
    return kinds if verb != "GET" else [*(set(kinds) - OF_WRITES), *STALE]


def slow_kinds_for(verb):
    if verb == "WATCH":
        return list(WATCH_SLOW)
    return ["hang-before"] if verb == "GET" else list(SLOW)


def exactly(text):
    return f"^{re.escape(text)}$"
