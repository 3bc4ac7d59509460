/*
 * YAML, read as kubectl reads it, so that a manifest means the same to both.
 * The project's only user of libyaml.
 *
 * Plain scalars resolve as kubectl 1.36's reader resolves them: y, yes, on,
 * true (and Yes, YES, …) are true; n, no, off, false are false, as keys too
 * (the key n becomes "false"); 014 and 0o14 are 12, 0x1F is 31, 0b11 is 3,
 * 1_000 is 1000, +1 is 1, -0 is 0, "1." is 1, .5 is 0.5, 1e3 is 1000; ~, null
 * and nothing are null; dates, 190:20:30 and 12e stay strings; .inf and .nan
 * are errors. Other numbers keep their text where that is JSON. Merge keys
 * (<<) are honoured: a mapping's own keys win, then the earlier of several
 * mappings. (kubectl differs where a key stands before the << that has it
 * too: there it takes that of the <<.)
 *
 * Refused, with line and column (both from 1, columns in characters): keys
 * that occur twice in a mapping (kubectl takes the last), aliases whose
 * expansion passes LIMIT_YAML_ALIAS_VALUES, nesting past LIMIT_DEPTH, an
 * alias inside its own anchor, unknown anchors, keys that are null or no
 * scalars, tags other than YAML's own core tags (!!binary, !!set and
 * !!timestamp are none), invalid UTF-8, and UTF-16 (kubectl reads it).
 *
 * A value has no place of its own: yaml_find() reads the text once more for it,
 * which costs nothing where nothing has to be told.
 */
#pragma once

#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

/* All documents of a stream. Empty ones (null, too) are left out. *ret is an
 * array of *ret_count references; yaml_free_all() gives them back. */
int yaml_read_all(const char *text, size_t length, const struct value ***ret, size_t *ret_count,
                  struct error *error);
void yaml_free_all(const struct value **values, size_t count);

/* The same with the line (from 1) on which each document begins: its %YAML or ---, or its content.
 * lines: free(). */
int yaml_read_lines(const char *text, size_t length, const struct value ***ret, size_t **ret_lines,
                    size_t *ret_count, struct error *error);

/* Where something stands: both from 1, columns in characters. */
struct yaml_mark {
    size_t line, column;
};

/* A path (path.h) that is looked for. */
struct place_wanted {
    const char *path;      /* borrowed; "": the document's content */
    struct yaml_mark mark; /* where it stands, or what is found of it */
    const char *rest;      /* for the search alone */
    struct buf step;
};

/*
 * Where paths stand in the first document of the text, all in one pass: the key of a member, or the
 * item of a list. Where a path leads nowhere, it is the place of what is found of it; so it is
 * below an alias or a <<. text: as it was read (yaml_read_lines()), from the line of the document
 * on.
 */
void yaml_find(const char *text, size_t length, struct place_wanted *wanted, size_t n);

/*
 * Writes a value in YAML's block style, for people and for any reader of YAML: a string is without
 * quotes where none takes it for something else, a block (|) where it has several lines, and else
 * in double quotes with its hidden characters escaped. Members keep their order. Ends with a line's
 * end. A VALUE_UNKNOWN is its text.
 */
void yaml_write(struct buf *to, const struct value *value);

/* The only document of a stream; ERR_INVALID where there are none or more. */
int yaml_read(const char *text, size_t length, const struct value **ret, struct error *error);
