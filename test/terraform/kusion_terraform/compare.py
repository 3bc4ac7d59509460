"""Our answers and OpenTofu's as one form, and what differs in it."""

import json
import re

from kusion_terraform.catalog import DATA, KINDS, OURS, RANDOM
from kusion_terraform.ours import id_of

ACTIONS = {("no-op",): "none", ("create",): "create", ("update",): "update", ("delete",): "delete",
           ("delete", "create"): "replace", ("create", "delete"): "replace", ("forget",): "none",
           ("read",): "read"}


# ---- Actions, and fields that replace ----

def our_plan(answer):
    """(action, paths) by id."""
    found = {}
    for one in answer.get("plan", []):
        if one["deposed"]:
            continue
        action = {"unchanged": "none", "forget": "none"}.get(one["action"], one["action"])
        paths = re.findall(r"attributes\.(.*?)(?:, | and | cannot be changed)",
                           one["reason"] or "") if action == "replace" else []
        found[one["id"]] = ("error" if one["error"] else action, sorted(paths))
    return found


def path_text(path):
    """Without what lies in an element of a set."""
    text = ""
    for step in path:
        if isinstance(step, str):
            text += f"[{step}]" if "." in step else f".{step}"
        elif isinstance(step, int):
            text += f"[{step}]"
        else:
            break
    return text.lstrip(".")


def their_plan(plan):
    found = {}
    for one in plan.get("resource_changes", []):
        if "deposed" in one:
            continue
        paths = sorted({path_text(path) for path in one["change"].get("replace_paths", [])})
        kind = f"data.{one['type']}" if one["mode"] == "data" else one["type"]
        action = ACTIONS[tuple(one["change"]["actions"])]
        if "importing" in one["change"] and action in ("none", "update"):
            action = "adopt"
        found[id_of(kind, one["name"])] = (action, paths)
    return found


HIDDEN = "(sensitive value)"


def same_form(ours, theirs):
    """Both. Of ours the paths are shown in full, if theirs have one like it: a key or an index may be what is
    secret elsewhere."""
    def shown(path):
        pattern = re.escape(path).replace(re.escape(HIDDEN), ".*")
        return next((one for one in theirs[1] if re.fullmatch(pattern, one)), path) if HIDDEN in path else path
    return (ours[0], sorted(set(map(shown, ours[1])))), theirs


# ---- Attributes ----

def mask(kind, config, value):
    """Of what differs each time, only the form."""
    if kind.split("_")[0] not in RANDOM and kind not in ("time_sleep", "time_static", "time_rotating"):
        return value
    return {name: one if name in config or one is None else f"({type(one).__name__})"
            for name, one in value.items()}


def plain(kind, config, attributes):
    if attributes is None:
        return None
    return number(mask(kind, config, KINDS[kind].plain(attributes)))


def number(value):
    """1.0 and 1 are one."""
    if isinstance(value, dict):
        return {name: number(one) for name, one in value.items()}
    if isinstance(value, list):
        return [number(one) for one in value]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def our_state(answer, kinds):
    """(status, attributes) by id."""
    return {one["id"]: (one["status"], plain(*kinds[one["id"]], one["result"]))
            for one in answer.get("state", []) if not one["deposed"] and one["id"] in kinds
            and kinds[one["id"]][0] not in DATA}


def their_state(state, kinds):
    found = {}
    for (kind, name), instance in state.items():
        id = id_of(kind, name)
        if id in kinds:
            found[id] = (instance.get("status", "applied"), plain(*kinds[id], instance["attributes"]))
    return found


# ---- Differences ----

def difference(what, ours, theirs):
    """Lines; none: they are equal."""
    if ours == theirs:
        return []
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [line for key in sorted({*ours, *theirs})
                for line in difference(f"{what}.{key}", ours.get(key, "(absent)"), theirs.get(key, "(absent)"))]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [line for i, (one, other) in enumerate(zip(ours, theirs))
                for line in difference(f"{what}[{i}]", one, other)]
    return [f"{what}: ours {json.dumps(ours)[:400]}, tofu's {json.dumps(theirs)[:400]}"]


def objects(world, kind, name):
    """What the back end has."""
    return {place: number(KINDS[kind].plain(one)) for place, one in world.of(name).items()} if kind in OURS else {}
