#include "controller/reconcile/dependents.h"

#include "controller/desk/dependencies.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/sight.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

#define REASON   "DependentsExist"
#define NAMED    3
#define TOGETHER 2000 /* ms: Specs that are deleted together are deleted one after the other */
#define AGAIN    1000 /* ms, until that is over */
/* Of one other namespace, that are asked for. Anybody may say of his Specs that they depend on this
 * one: further accounts of his are as those that may not read it. */
#define ACCOUNTS_OF_NAMESPACE 4

static int64_t deleting_for(const struct run *run)
{
    const char *since =
        value_string(value_path(run->object, "metadata", "deletionTimestamp", NULL));

    return since ? context_now(run->context) - timestamp_parse(since) : 0;
}

static bool is_own(const struct run *run, const struct desk_dependent *dependent)
{
    return str_equal(dependent->namespace_name, run->subject.key.namespace_name);
}

/* Whether an account may read this Spec. */
struct right {
    const char *namespace_name, *user; /* borrowed */
    bool may;
};

struct look {
    struct right *rights;
    size_t n_rights, capacity;
    struct buf names;
    size_t count, n_foreign; /* that it waits for */
    bool is_unsure;          /* others may be about to be deleted, too, or be known in a moment */
};

/* Its account may read this Spec. What cannot be asked now is asked again: it counts. */
static bool may_name(struct look *look, const struct run *run,
                     const struct desk_dependent *dependent)
{
    struct right right = {dependent->namespace_name, dependent->user, true};
    size_t n = 0;

    if (!dependent->user)
        return true;
    for (size_t i = 0; i < look->n_rights; i++) {
        if (str_equal(look->rights[i].user, dependent->user))
            return look->rights[i].may;
        n += str_equal(look->rights[i].namespace_name, dependent->namespace_name);
    }
    if (n == ACCOUNTS_OF_NAMESPACE)
        return false;
    right.may = !sight_is_denied(
        sight_get(run, &run->subject.key, dependent->user, KUBE_METADATA, NULL, NULL));
    look->rights = mem_grow(look->rights, look->n_rights, &look->capacity, sizeof(right));
    look->rights[look->n_rights++] = right;
    return right.may;
}

static void look_at(struct look *look, const struct run *run,
                    const struct desk_dependent *dependent)
{
    bool is_overdue = !is_own(run, dependent) && deleting_for(run) >= run->policy.timeout;

    if (is_overdue)
        return;
    if (!dependent->is_deleting) {
        look->is_unsure = look->is_unsure || deleting_for(run) < TOGETHER;
    } else if (is_own(run, dependent)) {
        look->count++;
        if (look->count - look->n_foreign <= NAMED)
            buf_printf(&look->names, "%s%s", look->names.length ? ", " : "", dependent->name);
    } else if (may_name(look, run, dependent)) {
        look->count++;
        look->n_foreign++;
    }
}

/* Once: at the first look at the deletion. */
static void tell(const struct run *run, const struct desk_dependents *dependents)
{
    for (size_t i = 0; i < dependents->count; i++) {
        const struct desk_dependent *each = &dependents->items[i];
        _cleanup_free_ char *message = NULL;

        if (each->is_deleting || !is_own(run, each))
            continue;
        message = str_printf("is being deleted, and the Spec %s depends on it", each->name);
        run_event(run, EVENT_WARNING, REASON, message);
    }
}

static char *describe(const struct look *look)
{
    size_t named = look->count - look->n_foreign;
    struct buf text = BUF_INIT;

    buf_printf(&text, "waits until Specs that depend on it are deleted: %s",
               look->names.length ? look->names.data : "");
    if (named > NAMED)
        buf_printf(&text, " and %zu more", named - NAMED);
    if (look->n_foreign)
        buf_printf(&text, "%s%zu of other namespaces, for `timeout` at most", named ? "; " : "",
                   look->n_foreign);
    return buf_take(&text);
}

static int say(struct run *run, const struct look *look, struct error *error)
{
    _cleanup_free_ char *message = describe(look);
    const struct outcome outcome = {
        .verdict = {"Unknown", REASON, message, PROGRESS_RECONCILING, run_last(run).healthy}};

    return run_write_status(run, &outcome, error);
}

int dependents_await(struct attempt *attempt, struct reconcile_result *result, struct error *error)
{
    struct run *run = &attempt->run;
    struct look look = {.names = BUF_INIT};
    struct desk_dependents dependents;
    int64_t after = run->policy.interval, left;
    int r = 0;

    desk_set_held(run->context->desk, &run->subject.key, true);
    desk_dependents_of(run->context->desk, &run->subject.key, &dependents);
    look.is_unsure = !dependents.is_complete;
    for (size_t i = 0; i < dependents.count; i++)
        look_at(&look, run, &dependents.items[i]);
    if (look.count)
        r = say(run, &look, error);
    else if (!look.is_unsure)
        tell(run, &dependents);
    left = run->policy.timeout - deleting_for(run);
    if (look.n_foreign && left < after)
        after = left;
    *result = (struct reconcile_result){.kind = RECONCILE_AFTER,
                                        .after = look.is_unsure ? AGAIN : after,
                                        .priority = WORKQUEUE_CHANGE};
    r = r < 0 ? r : look.count || look.is_unsure;
    if (r == 0)
        desk_set_held(run->context->desk, &run->subject.key, false);
    desk_dependents_done(&dependents);
    buf_done(&look.names);
    free(look.rights);
    return r;
}
