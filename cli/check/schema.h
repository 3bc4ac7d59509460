/*
 * The schema of a CustomResourceDefinition, as the API server validates by it: types, required and
 * unknown fields, enums, patterns, bounds. Rules in CEL are not evaluated; cli/check/rules.h has
 * those of a Spec that the engine does not check.
 *
 * Of a structural schema, what occurs in crds/ is known: type, properties, additionalProperties,
 * items, required, enum, pattern, minLength, maxLength, minItems, maxItems, minProperties,
 * maxProperties, minimum, maximum, x-kubernetes-preserve-unknown-fields. Formats of numbers are
 * checked as bounds.
 */
#pragma once

#include "engine/value/path.h"
#include "engine/value/value.h"

/* path: of the value that is wrong, from the root. */
typedef void schema_problem(void *arg, const char *path, const char *message);

/* value: at `path`. schema: an openAPIV3Schema. */
void schema_check(const struct value *value, const struct value *schema, struct path *path,
                  schema_problem *fn, void *arg);

/* The definition's schema of spec; borrowed from the definition. NULL: it has none. */
const struct value *schema_of_definition(const struct value *definition, const char *field);
