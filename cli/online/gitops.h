/*
 * Who applies a Spec from Git: a change by hand would be undone by it. Pure.
 */
#pragma once

#include "cli/frame/output.h"
#include "engine/value/value.h"

/* "Kustomization fl/apps"; NULL: nobody that is known. free(). */
char *gitops_owner(const struct value *spec);
/* A warning that it will undo what is done now, if there is one. */
void gitops_warn(struct output *err, const struct value *spec);
