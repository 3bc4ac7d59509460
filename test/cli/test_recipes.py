"""docs/recipes.md, typed line by line: no object is made anew."""

import pytest
import yaml
from kusion_e2e.pages import marked

from typed import type_block


def uids(shell):
    return shell.type("kubectl get configmap/web deployment/web -o jsonpath='{.items[*].metadata.uid}'").must()


def written(shell, name):
    return yaml.safe_load((shell.folder / name).read_text())


def write(shell, name, spec):
    (shell.folder / name).write_text(yaml.safe_dump(spec))


def cut_the_config_map_out(shell):
    """What the page says between its two blocks: it goes from shop.yaml to config.yaml."""
    shop = written(shell, "shop.yaml")
    [config] = [one for one in shop["spec"]["resources"] if ":ConfigMap:" in one["id"]]
    shop["spec"]["resources"].remove(config)
    for other in shop["spec"]["resources"]:
        other.pop("dependsOn", None)
    shop["spec"]["prune"] = False
    write(shell, "shop.yaml", shop)
    write(shell, "config.yaml", {**shop, "metadata": {**shop["metadata"], "name": "config"},
                                 "spec": {"resources": [config]}})


def take_prune_out(shell):
    shop = written(shell, "shop.yaml")
    del shop["spec"]["prune"]
    write(shell, "shop.yaml", shop)
    shell.type("kubectl kusion apply -f shop.yaml --watch").must()


@pytest.mark.parametrize("style", ["flow", "block"])
def test_the_recipes(shell, style):
    """However web.yaml is written: by hand, or as `convert` writes it."""
    if style == "block":
        write(shell, "web.yaml", written(shell, "web.yaml"))
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    before = uids(shell)
    rename, move = marked("recipes.md", __file__)
    assert len(type_block(shell, rename)) > 5
    cut_the_config_map_out(shell)
    assert len(type_block(shell, move)) > 4
    take_prune_out(shell)
    assert uids(shell) == before
    said = shell.type("kubectl kusion state list").must()
    assert [line.split()[0] for line in said.splitlines()[1:]] == ["config", "shop"], said
    shell.type("kubectl kusion apply -f shop.yaml --watch").must()  # no other manager has become one of its fields
