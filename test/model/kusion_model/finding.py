"""A sequence that failed: shrunk, and told to people."""

import json
import time

from kusion_model.generate import text
from kusion_model.shrink import actions_of, shrink

AGAIN = 3        # times that a sequence is played to see whether it fails again
SHRINKING = 300  # seconds


def tell(party, outcome, where):
    """Text: the shortest sequence that fails like it, what was wrong, and how to see it again."""
    end = time.monotonic() + SHRINKING
    steps, note = outcome.steps, "it did not fail again, so it is not shrunk"
    if party.first_failing([steps] * AGAIN) is not None:
        steps = shrink(steps, party.first_failing, lambda: time.monotonic() > end)
        note = f"shrunk from {actions_of(outcome.steps)} actions to {actions_of(steps)}"
        failed = party.submit(steps).result()
        outcome = outcome if failed else failed
    lines = [f"FOUND {where} ({note})", *(f"  {text(step)}" for step in steps),
             f"  at step {outcome.at + 1}:",
             *(f"  ! {violation[:1000]}" for violation in outcome.violations),
             *(f"  | {line}" for line in outcome.log if line.startswith(("in ", "Release ", "log: "))),
             f"  again:  KUSION_TEST_SEQUENCE='{json.dumps(steps)}' hack/soak model"]
    return "\n".join(lines)
