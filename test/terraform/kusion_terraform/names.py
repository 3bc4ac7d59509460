"""What the resources of a case are called. The name of an object in the back end stays when its resource
gets another id."""

FOLDERS = {"probe_thing": "thing", "probe_blocks": "blocks", "probe_renamed": "renamed", "legacy_thing": "legacy"}


def _name(case, key, kind, other=""):
    dashed = kind.replace("_", "-").replace(".", "-")
    return f"{case}-{key}-{dashed}" + (f"-{other}" if other else "")


def resource_name(case, key, one):
    return _name(case, key, one["kind"], one.get("as", ""))


def object_name(case, key, one):
    return _name(case, key, one.get("born", one["kind"]))


def moved_from(case, key, one):
    """Kind and name that it had before, or None."""
    if "moved" not in one:
        return None
    kind, other = one["moved"]
    return kind, _name(case, key, kind, other)


def import_id(case, key, one):
    """Of what is to be taken over, or None."""
    return f"{FOLDERS[one['kind']]}/{object_name(case, key, one)}/1" if "import" in one else None


def named(case, key, one):
    """The resource with its object's name."""
    if "name" not in one["attributes"]:
        return one
    return {**one, "attributes": {**one["attributes"], "name": object_name(case, key, one)}}


def put_object(world, case, key, resources, before):
    """Somebody else makes the object that is to be taken over: one like that of another resource."""
    one = resources[key]
    source = before.get(one.get("import"))
    found = source and list(world.of(object_name(case, one["import"], source)).values())
    if found and not world.of(object_name(case, key, one)):
        world.put(import_id(case, key, one), {**found[-1], "name": object_name(case, key, one)})
