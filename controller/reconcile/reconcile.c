#include "controller/reconcile/reconcile.h"

#include "controller/reconcile/quarantine.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

/* Specs have keys without a prefix. */
char *reconcile_suspect(enum desk_kind kind, const struct attempt *attempt)
{
    return str_printf("%s%s", kind == DESK_RELEASE ? QUARANTINE_RELEASE : "",
                      desk_key(attempt->entry, NULL));
}

static int advance(const struct reconcile_context *context, const struct reconcile_kind *kind,
                   struct attempt *attempt, struct cancel *cancel, struct reconcile_result *result,
                   struct error *error)
{
    _cleanup_free_ char *key = reconcile_suspect(kind->entries, attempt);
    bool was_under_way = attempt->operation || attempt->sources;
    int64_t after = was_under_way ? 0 : quarantine_wait(context->quarantine, key);
    int r;

    if (after) {
        *result = (struct reconcile_result){.kind = RECONCILE_WAITING, .after = after};
        return 0;
    }
    r = kind->advance(attempt, context, cancel, result, error);
    /* It has nothing more: it came to its end, or goes on later, or is tried again. */
    if (!attempt->operation && !attempt->sources)
        quarantine_leave(context->quarantine, key,
                         was_under_way && r >= 0 &&
                             (result->kind == RECONCILE_DONE || result->kind == RECONCILE_AFTER));
    return r;
}

struct reconcile_result reconcile_key(const struct reconcile_context *context,
                                      const struct reconcile_kind *kind, const char *key,
                                      struct cancel *cancel)
{
    struct reconcile_result result = {.kind = RECONCILE_DONE};
    struct attempt *attempt = attempt_enter(context->desk, kind->entries, key);
    struct error error = {0};
    int r;

    if (!attempt)
        return result;
    r = advance(context, kind, attempt, cancel, &result, &error);
    if (r == ERR_CANCELLED) { /* a newer generation is on its way */
        result = (struct reconcile_result){.kind = RECONCILE_DONE};
    } else if (r < 0) {
        /* A conflict, or an API server that does not answer, is a matter of course. */
        (err_is_transient(error.code) ? log_warn : log_error)(
            kind->failure, "namespace", attempt->object.namespace_name, kind->label,
            attempt->object.name, "reason", error.reason, "error", error.message, NULL);
        result = (struct reconcile_result){.kind = RECONCILE_RETRY};
    }
    if (r >= 0 || r == ERR_CANCELLED)
        attempt_give_up_ticket(attempt);
    attempt_leave(attempt);
    return result;
}
