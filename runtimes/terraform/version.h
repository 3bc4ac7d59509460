/*
 * Versions of providers, and constraints on them as Terraform writes them:
 *
 *   3.7.2    >= 3.0, < 4.0    ~> 3.6    != 3.6.1
 *
 * A version with a suffix (4.0.0-beta1) is below the one without, and matches only a constraint
 * that names exactly that version.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/error.h"

#define VERSION_PARTS       3
#define VERSION_SUFFIX_SIZE 64

struct version {
    int64_t parts[VERSION_PARTS];
    int written; /* how many parts were: 2 of "3.6" */
    char suffix[VERSION_SUFFIX_SIZE];
};

/* False: the text is no version. */
bool version_read(const char *text, struct version *ret);
int version_compare(const struct version *a, const struct version *b);

/* ERR_INVALID: the text is no constraint. */
int version_check_constraint(const char *constraint, struct error *error);
/* constraint: valid, or NULL, which every version matches. */
bool version_matches(const struct version *version, const char *constraint);
