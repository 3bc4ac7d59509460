#include "controller/reconcile/run/retention.h"

#include <string.h>

#include "controller/desk/desk.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/records/recorded.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

/* ---- Which go ---- */

size_t retention_choose(const struct release_revisions *revisions, int64_t limit,
                        int64_t last_applied, int64_t *ret)
{
    int64_t room = limit - 1; /* the newest one stays */
    size_t n = 0;

    for (size_t i = 1; i < revisions->count; i++)
        if (revisions->items[i] == last_applied)
            room--;
    for (size_t i = 1; i < revisions->count; i++)
        if (revisions->items[i] != last_applied && room-- <= 0)
            ret[n++] = revisions->items[i];
    for (size_t i = 0; i < n / 2; i++) {
        int64_t revision = ret[i];

        ret[i] = ret[n - 1 - i];
        ret[n - 1 - i] = revision;
    }
    return n;
}

/* ---- Removing ---- */

/* Releases that are removed at a time: people can make any number that look like records, and are
 * read in vain. */
#define MOST_AT_ONCE 50

/* ERR_CONFLICT: it goes on. What has ended never goes on again. */
static int check_ended(const struct run *run, int64_t revision, struct error *error)
{
    _cleanup_(release_free_p) struct release *release = NULL;
    int r = releases_load(run->context, &run->subject, revision, run->cancel, &release, error);

    return r < 0 || !release || release_phase_is_terminal(release->phase)
               ? r
               : err_set(error, ERR_CONFLICT, "ReleaseNotEnded", "it has not ended yet");
}

/* Before the Release: else, killed in between, nobody would look for them. */
static int drop_plans(const struct run *run, int64_t revision, enum release_removal how,
                      struct error *error)
{
    const struct store_call call = context_call(run->context, run->cancel);
    const struct reconcile_context *context = run->context;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const struct spec_key release = {run->subject.key.namespace_name,
                                     release_name(&arena, run->subject.key.name, revision)};
    bool has = false;
    int r = plans_has(context, &release, &call, &has, error);

    if (r >= 0 && has && how == RELEASE_IF_ENDED)
        r = check_ended(run, revision, error);
    if (r >= 0 && has)
        r = plans_drop(context, &release, &call, error);
    return r;
}

static int remove_one(const struct run *run, int64_t revision, enum release_removal how,
                      struct error *error)
{
    struct release_history *history = run->context->history;
    const struct store_call call = context_call(run->context, run->cancel);
    int r = drop_plans(run, revision, how, error);

    return r < 0 ? r
                 : history->ops->remove(history, &run->subject.key, revision, how, &call, error);
}

/* Nobody can approve, or retry, any other Release than the newest one. */
static int drop_approvals(const struct run *run, int64_t newest, bool is_needed,
                          struct error *error)
{
    const struct store_call call = context_call(run->context, run->cancel);
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    const char *but = is_needed ? release_name(&arena, run->subject.key.name, newest) : NULL;
    int r =
        plans_drop_approvals(run->context, &run->subject.key, APPROVALS_BUT_OF, but, &call, error);

    return r;
}

static bool is_chosen(const int64_t *surplus, size_t n, int64_t revision)
{
    for (size_t i = 0; i < n; i++)
        if (surplus[i] == revision)
            return true;
    return false;
}

/* Which Releases stay. */
struct kept {
    const struct run *run;
    const struct release_revisions *revisions;
    const int64_t *surplus; /* those of them that go */
    size_t n;
};

/* What is in force, and what a Release that stays names, can be rolled back to. */
static bool is_needed(const void *arg, const char *digest)
{
    const struct kept *kept = arg;
    const struct run *run = kept->run;
    const struct release_revisions *all = kept->revisions;

    if (str_equal(run->hold.spec_digest, digest) || str_equal(run->spec_digest, digest) ||
        str_equal(value_get_string(run->hold.before, "specDigest"), digest))
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (str_equal(all->documents[i], digest) &&
            !is_chosen(kept->surplus, kept->n, all->items[i]))
            return true;
    return false;
}

/* The recorded Specs that go with the surplus. */
static int remove_recorded(const struct kept *kept, struct error *error)
{
    const struct run *run = kept->run;

    for (size_t i = 0; i < kept->revisions->count; i++) {
        const char *digest = kept->revisions->documents[i];
        int64_t revision = kept->revisions->items[i];
        struct error problem = {0};
        int r;

        if (!digest || !is_chosen(kept->surplus, kept->n, revision) || is_needed(kept, digest))
            continue;
        r = check_ended(run, revision, &problem);
        if (r >= 0)
            r = recorded_drop(run->context, &run->subject.key, digest, &problem);
        if (r < 0 && r != ERR_CONFLICT) /* it goes on, or somebody changes it */
            return err_copy(error, &problem);
    }
    return recorded_sweep(run->context, &run->subject.key, (size_t)run->policy.history_limit,
                          is_needed, kept, error);
}

/* 1: there are more. */
static int remove_surplus(const struct run *run, const struct release_revisions *revisions,
                          struct error *error)
{
    _cleanup_free_ int64_t *surplus = NEW_ARRAY(int64_t, revisions->count + 1);
    size_t n =
        retention_choose(revisions, run->policy.history_limit, run_last_applied(run), surplus);
    size_t now = n < MOST_AT_ONCE ? n : MOST_AT_ONCE;
    const struct kept kept = {run, revisions, surplus, now};
    int r = remove_recorded(&kept, error);

    for (size_t i = 0; i < now && r >= 0; i++) {
        struct error problem = {0};

        r = remove_one(run, surplus[i], RELEASE_IF_ENDED, &problem);
        if (r == ERR_CONFLICT) /* it goes on, or somebody changes it */
            r = 0;
        else if (r < 0)
            err_copy(error, &problem);
    }
    return r < 0 ? r : n > MOST_AT_ONCE;
}

/* There are no more revisions than numbers up to the newest. */
static bool is_within_limit(const struct run *run, int64_t newest)
{
    return newest <= run->policy.history_limit;
}

static int list_and_remove(const struct run *run, struct error *error)
{
    _cleanup_(release_revisions_done) struct release_revisions revisions = {0};
    int r = releases_list(run->context, &run->subject, run->cancel, &revisions, error);

    return r < 0 ? r : remove_surplus(run, &revisions, error);
}

static void conclude(const struct run *run, int r, const struct error *problem)
{
    const struct spec_key *key = &run->subject.key;

    desk_set_collected(run->context->desk, key, r == 0);
    if (r < 0 && r != ERR_CANCELLED && r != ERR_FENCED)
        log_warn("old Releases could not be removed", "namespace", key->namespace_name, "spec",
                 key->name, "reason", problem->reason, "error", problem->message, NULL);
}

void retention_collect(const struct run *run, const struct release_revisions *found,
                       int64_t revision, enum release_phase phase)
{
    _cleanup_(release_revisions_done) struct release_revisions all = {0};
    struct error problem = {0};
    int r = drop_approvals(run, revision, phase != PHASE_SUCCEEDED, &problem);

    if (r < 0) {
        conclude(run, r, &problem);
        return;
    }
    if (found) {
        release_revisions_add(&all, revision,
                              run->subject.resources ? NULL : run->subject.spec_digest);
        for (size_t i = 0; i < found->count; i++)
            if (found->items[i] != revision)
                release_revisions_add(&all, found->items[i], found->documents[i]);
        r = remove_surplus(run, &all, &problem);
    } else if (!is_within_limit(run, revision)) {
        r = list_and_remove(run, &problem);
    }
    conclude(run, r, &problem);
}

void retention_check(const struct run *run)
{
    struct error problem = {0};
    int64_t newest = run_last_attempted(run);
    int r = 0;

    if (desk_is_collected(run->context->desk, &run->subject.key))
        return;
    if (newest < run_last_applied(run))
        newest = run_last_applied(run);
    if (!is_within_limit(run, newest))
        r = list_and_remove(run, &problem);
    conclude(run, r, &problem);
}

int retention_forget(const struct run *run, struct error *error)
{
    _cleanup_(release_revisions_done) struct release_revisions revisions = {0};
    int r = recorded_drop_all(run->context, &run->subject.key, error);
    desk_forget_spec(run->context->desk, &run->subject.key);
    if (r < 0 || run->context->history->ops->goes_with_spec)
        return r;
    r = releases_list(run->context, &run->subject, run->cancel, &revisions, error);
    for (size_t i = revisions.count; i > 0 && r >= 0; i--)
        r = remove_one(run, revisions.items[i - 1], RELEASE_ANYWAY, error);
    return r;
}

/* ---- What was left ---- */

struct sweep {
    const struct reconcile_context *context;
    const char *watch_namespace;
};

static bool is_watched(const struct sweep *sweep, const struct document_name *name)
{
    return !sweep->watch_namespace || str_equal(sweep->watch_namespace, name->spec.namespace_name);
}

/* A record has a plan, and the history is no object that a reconcile would find. */
static bool is_of_record(const struct sweep *sweep, const struct document_name *name)
{
    const char *dash = strrchr(name->item, '-');
    int64_t revision;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    bool is = !sweep->context->history->ops->goes_with_spec && dash &&
              release_revision_parse(dash + 1, &revision) &&
              str_equal(release_name(&arena, name->spec.name, revision), name->item);

    return is;
}

static int on_plan(void *arg, const struct document_name *name, struct error *error)
{
    const struct sweep *sweep = arg;
    const struct spec_key release = {name->spec.namespace_name, name->item};

    (void)error;
    if (is_watched(sweep, name) && !is_of_record(sweep, name))
        desk_request(sweep->context->desk, DESK_RELEASE, &release);
    return 0;
}

/* Of a Spec that is there, nothing is left. */
static int on_spec(void *arg, const struct document_name *name, struct error *error)
{
    const struct sweep *sweep = arg;
    struct desk *desk = sweep->context->desk;

    (void)error;
    if (is_watched(sweep, name) && !desk_lists(desk, DESK_SPEC, &name->spec))
        desk_request(desk, DESK_SPEC, &name->spec);
    return 0;
}

int retention_sweep(const struct reconcile_context *context, const char *watch_namespace)
{
    struct sweep sweep = {context, watch_namespace};
    const struct store_call call = context_call(context, NULL);
    struct store *store = context->store;
    struct error problem = {0};
    int r = plans_list(context, &call, on_plan, &sweep, &problem);

    if (r >= 0)
        r = store->ops->list(store, DOCUMENT_SPEC, NULL, on_spec, &sweep, &call, &problem);
    if (r >= 0 && !context->history->ops->goes_with_spec)
        r = store->ops->list(store, DOCUMENT_RELEASE, NULL, on_spec, &sweep, &call, &problem);
    if (r < 0)
        log_warn("plans that were left could not be listed", "reason", problem.reason, "error",
                 problem.message, NULL);
    return r;
}
