/*
 * A Spec from JSON, and what is wrong with it as text.
 */
#pragma once

#include "engine/spec/spec.h"

/* A Spec "s" in the namespace "team" with these fields, or these resources. */
#define SPEC(fields) \
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{" fields "}}"
#define RESOURCES(resources) SPEC("\"resources\":[" resources "]")

/* The types that there are: each test program has its own. */
extern const struct spec_options parse_options;

/* ret_problems: one in a line, "reason|resource|field|message", an absent part
 * as "-"; free() it. Checks that the error fits. NULL: there are problems. */
struct spec *parse_spec(const char *json, char **ret_problems);

/* For each row: the problems of a Spec are these, whatever their messages (where a line
 * of `problems` has no fourth part), and no others. */
struct parse_row {
    const char *json, *problems; /* "" : none */
};
void expect_problems(const struct parse_row *rows, size_t n_rows);
