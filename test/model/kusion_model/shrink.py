"""The shortest sequence that still fails. Pure: `fails` plays sequences."""


def actions_of(steps):
    return sum(len(step) for step in steps)


def candidates(steps):
    """Shorter ones: without some steps, the larger parts first; then without an action."""
    size = len(steps) // 2
    while size:
        for begin in range(0, len(steps), size):
            yield steps[:begin] + steps[begin + size:]
        size //= 2
    for i, step in enumerate(steps):
        for j in range(len(step)):
            if len(step) > 1:
                yield [*steps[:i], step[:j] + step[j + 1:], *steps[i + 1:]]


def simpler(steps):
    """As long, but with fewer races: a step of several actions is two."""
    for i, step in enumerate(steps):
        for j in range(1, len(step)):
            yield [*steps[:i], step[:j], step[j:], *steps[i + 1:]]


def shrink(steps, first_failing, is_over=lambda: False):
    """first_failing gets sequences, and gives the index of the first that fails, or None. The result
    fails; without any part of it, nothing was seen to fail, unless the time was over before."""
    while not is_over():
        batch = unique(candidates(steps))
        found = first_failing(batch)
        if found is None:
            batch = unique(simpler(steps))
            found = first_failing(batch) if batch else None
        if found is None:
            return steps
        steps = batch[found]
    return steps


def unique(sequences):
    found = []
    for one in sequences:
        if one and one not in found:
            found.append(one)
    return found
