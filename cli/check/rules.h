/*
 * Rules of the API (x-kubernetes-validations in crds/api.kusion.io_specs.yaml) that neither its
 * schema nor the engine checks. test/cli/test_validate.py tries every rule that is there.
 */
#pragma once

#include "cli/check/schema.h"

/* fields: of spec. Paths begin with `path`. */
void rules_check(const struct value *fields, struct path *path, schema_problem *fn, void *arg);
