/*
 * The resources of a Spec as a list: what becomes of each, and why it is not further. From the Spec
 * and the Release that records its latest operation. Pure.
 */
#pragma once

#include "cli/frame/output.h"
#include "cli/online/objects.h"

enum row_state { ROW_DONE, ROW_BUSY, ROW_WAITS, ROW_FAILED, ROW_SKIPPED };

struct row {
    const char *id; /* borrowed from the Spec or the Release, as are these; NULL: none */
    const char *action, *outcome, *reason, *duration, *started_at;
    const char *message; /* its first line is meant */
    enum row_state state;
    const struct value *waits_for; /* {id, by}; NULL: nothing */
    char *own_id; /* of an object that is not the Spec's own (healthChecks); else NULL */
    char *name;   /* "Deployment/web" */
    char *text;   /* what there is to say: "Available: 0/1", "waits for Job/migrate"; "" */
};

struct rows {
    struct row *items;
    size_t count, capacity;
    size_t n_done;
};

/* spec or record may be NULL. Rows borrow from both. */
void rows_init(struct rows *rows, const struct value *spec, const struct value *record);
void rows_done(struct rows *rows);
/* Then their messages say what the Spec's own message repeats. */
bool rows_have_failed(const struct rows *rows);

/* Its members, as `-o json` has them, into an object. */
void row_add_members(struct value_builder *b, const struct row *row);

/* "waits for Job/migrate", of a result's waitsFor; free(). NULL: it has none. */
char *waits_text(const struct value *waits_for, const char *namespace_name);

const char *row_mark(const struct row *row);
enum style row_style(const struct row *row);

/* The first line of a message, without the hints below it; free(). */
char *first_line(const char *message);
