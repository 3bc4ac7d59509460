/*
 * What is told about an input: errors, warnings and notes, each with the place in its file, the
 * resource that it is about, and what to do.
 *
 * Findings name a document and a path; findings_place() looks all of them up at once, and puts them
 * in order. FINDINGS_MAX are kept of each severity; further ones are counted.
 */
#pragma once

#include "cli/input/input.h"

#define FINDINGS_MAX 2000

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE, SEVERITIES };

struct finding {
    enum severity severity;
    const char *reason;    /* CamelCase, as in a condition: "InvalidSpec" */
    const char *label;     /* "Deployment/web"; NULL: no single resource */
    const char *text;      /* a sentence without a full stop */
    const char *file;      /* NULL: none */
    struct yaml_mark mark; /* line 0: the file as a whole */
    size_t order;          /* in which it was found */

    const struct input_document *document; /* NULL: the mark is known */
    const char *path;
    /* A second place that the text ends with; NULL: none. */
    const struct input_document *other;
    const char *other_path;
};

struct findings {
    struct finding *items;
    size_t count, capacity;
    size_t totals[SEVERITIES];
    struct arena arena;
};

#define FINDINGS_INIT \
    {                 \
        0             \
    }
void findings_done(struct findings *findings);

/* A place in an input. document NULL: none. */
struct place_in {
    const struct input_document *document;
    const char *path; /* copied */
};

/* label: NULL, or copied. The finding may be changed until the next one is added; NULL: it is only
 * counted. */
struct finding *findings_add(struct findings *findings, enum severity severity, const char *reason,
                             const struct place_in *place, const char *label, const char *format,
                             ...) PRINTF_LIKE(6, 7);

/* Files that could not be read are errors. */
void findings_add_problems(struct findings *findings, const struct input *input);

/* Looks up all places, and sorts: files in the order of the input, then lines. */
void findings_place(struct findings *findings);

/* Forgets all of one severity. */
void findings_drop(struct findings *findings, enum severity severity);

const char *severity_name(enum severity severity); /* "error" */
