"""docs/recipes.md, typed line by line: no object is made anew."""

import yaml

from typed import type_page


def uids(shell):
    return shell.type("kubectl get configmap/web deployment/web -o jsonpath='{.items[*].metadata.uid}'").must()


def test_the_recipes(shell):
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": shell.namespace},
              "data": {"color": "blue"}}
    (shell.folder / "config.yaml").write_text(yaml.safe_dump(config))
    shell.type("kubectl kusion apply -f web.yaml --watch").must()
    before = uids(shell)
    assert len(type_page(shell, "recipes.md", __file__)) > 10
    assert uids(shell) == before
    said = shell.type("kubectl kusion state list").must()
    assert [line.split()[0] for line in said.splitlines()[1:]] == ["config", "shop"], said
