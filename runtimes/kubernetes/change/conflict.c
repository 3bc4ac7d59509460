#include "runtimes/kubernetes/change/conflict.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/value/json.h"

/* Bytes of a field and of a name that a message shows: anybody chooses them. */
#define FIELD_BYTES 160
#define NAME_BYTES  64

/* The text in the quotes that follow the words: `conflict with "hpa" with subresource "scale" using
 * apps/v1`. NULL: there is none; free(). A name may have quotes itself, which the API server
 * escapes. */
static char *quoted_after(const char *message, const char *words)
{
    const char *found = message ? strstr(message, words) : NULL, *end;

    if (!found)
        return NULL;
    found += strlen(words);
    for (end = found; *end && *end != '"'; end++)
        end += *end == '\\' && end[1];
    return str_new_n(found, (size_t)(end - found));
}

static void show(struct buf *to, const char *text, size_t most)
{
    _cleanup_free_ char *cut = str_printf("%.*s", (int)most, text);

    json_write_string(to, cut, strlen(cut));
}

/* `spec.replicas is "hpa"'s (scale)` */
static void name_cause(struct buf *to, const char *field, const char *manager,
                       const char *subresource)
{
    buf_printf(to, "%s%.*s is managed by ", to->length ? ", " : "", FIELD_BYTES,
               *field == '.' ? field + 1 : field);
    show(to, manager, NAME_BYTES);
    if (subresource) {
        buf_add_str(to, " (");
        show(to, subresource, NAME_BYTES);
        buf_add_str(to, ")");
    }
}

int kube_judge_conflicts(const struct value *causes, const char *ours,
                         const struct managers_taking *taking, struct error *error)
{
    _cleanup_buf_ struct buf named = BUF_INIT;
    size_t count = 0;

    for (size_t i = 0; i < value_count(causes); i++) {
        const struct value *cause = value_at(causes, i);
        const char *message = value_get_string(cause, "message");
        const char *field = value_get_string(cause, "field");
        _cleanup_free_ char *manager = quoted_after(message, "conflict with \"");
        _cleanup_free_ char *subresource = quoted_after(message, "with subresource \"");

        if (!str_equal(value_get_string(cause, "reason"), "FieldManagerConflict") ||
            (manager && !subresource && managers_takes(manager, ours, taking)))
            continue;
        if (count++ < CONFLICT_NAMED)
            name_cause(&named, field ? field : "a field", manager ? manager : "another",
                       subresource);
    }
    if (!count)
        return 0;
    if (count > CONFLICT_NAMED)
        buf_printf(&named, " and %zu more", count - CONFLICT_NAMED);
    return err_set(error, ERR_CONFLICT, "ConflictDetected",
                   "%s: nothing of it is changed (conflictPolicy: Fail). Leave the field to the "
                   "other, by `ignore` or by taking it out of the Spec, or set conflictPolicy: "
                   "Force",
                   named.data);
}
