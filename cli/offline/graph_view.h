/*
 * The graph of a Spec, drawn: what comes first stands first.
 */
#pragma once

#include "cli/frame/command.h"

/* -o tree, dot or mermaid; --to ID: only this resource (an id, or Kind/name) and what it waits for.
 * spec: a custom resource. ERR_INVALID: it is not right; ERR_NOT_FOUND: there is no such resource.
 */
int graph_show(struct cli *cli, const struct value *spec, struct error *error);
