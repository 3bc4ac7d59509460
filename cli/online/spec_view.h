/*
 * A Spec on a page: how it stands, its resources, what to do next.
 */
#pragma once

#include "cli/online/objects.h"
#include "cli/online/rows.h"
#include "cli/online/standing.h"

/* The record of the latest operation among the Releases of a Spec, of this generation of it at
 * least (0: of any); NULL: there is none. Borrowed. */
const struct value *latest_record(const struct objects *releases, int64_t generation);

struct spec_view {
    const struct value *spec, *record;
    const struct rows *rows;
    bool is_failed_only; /* only resources that are not done */
    unsigned most;       /* rows that are shown, those that are not done before others; 0: all */
    /* Called below each row that is not done; or NULL. */
    void (*below)(void *arg, struct output *out, const struct row *row);
    void *arg;
};

void spec_view_head(struct output *out, const struct value *spec, const struct value *record);
void spec_view_rows(struct output *out, const struct spec_view *view);
/* Message (is_short: the summary of it), and what to do next. */
void spec_view_foot(struct output *out, const struct value *spec, bool is_short);

/* What to do next about a Spec that stands so: lines "next:  …". */
void show_next(struct output *out, const struct value *spec, const struct standing *standing);
