#include "controller/reconcile/run/witness.h"

#include <ctype.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* Releases that are read at most. One of an Apply that succeeded mostly tells all. */
#define MOST_READ 8

struct reading {
    const struct run *run;
    struct strmap types;   /* of the Spec's resources, by id; borrowed */
    struct strmap settled; /* ids of which a newer Release tells */
    struct arena arena;    /* which has these */
    struct value_builder *entries;
    bool is_open;    /* one was under way, and does not tell of what */
    bool is_history; /* all revisions that there ever were are read */
    struct witness *ret;
};

void witness_done(struct witness *witness)
{
    value_unref(witness->entries);
    witness->entries = NULL;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- Types ---- */

static void index_types(const struct run *run, struct strmap *ret)
{
    const struct value *resources = value_path(run_source(run), "spec", "resources", NULL);

    for (size_t i = 0; i < value_count(resources); i++) {
        const char *id = value_get_string(value_at(resources, i), "id");
        const char *type = value_get_string(value_at(resources, i), "type");

        if (id && type)
            strmap_put(ret, id, (void *)(uintptr_t)type);
    }
}

/* A result has no type. "apps/v1:Deployment:shop:web" has a kind in second place, which begins with
 * a capital letter; "hashicorp:random:random_pet:pet" has a provider, which does not. */
static const char *guess_type(const struct run *run, const char *id)
{
    const struct reconcile_context *context = run->context;
    const char *second = strchr(id, ':');
    bool is_kind = second && isupper((unsigned char)second[1]);

    for (size_t i = 0; i < context->n_runtimes; i++) {
        const struct runtime_ops *ops = context->runtimes[i]->ops;

        if (is_kind ? ops->list_own != NULL : (ops->flags & RUNTIME_IS_RECORDED) != 0)
            return ops->type;
    }
    return NULL;
}

/* ---- Results ---- */

static bool was_removed(const struct value *result)
{
    const char *action = value_get_string(result, "action");

    return str_equal(value_get_string(result, "outcome"), "succeeded") &&
           (str_equal(action, plan_action_name(PLAN_DELETE)) ||
            str_equal(action, plan_action_name(PLAN_FORGET)));
}

/* An object that could not even be planned may be there from before, and an older Release tells of
 * that. Where there are all, and it is told nowhere else, nothing was begun. */
static bool was_never_planned(const struct reading *reading, const struct release *release,
                              const struct value *result)
{
    return reading->is_history && str_equal(release->spec_uid, reading->run->subject.uid) &&
           str_equal(value_get_string(result, "action"), plan_action_name(PLAN_UNKNOWN));
}

/* Of what goes on, it is a plan, or how far that is. What was begun of this very Spec, State would
 * have; of an earlier one, anything may have been. A Destroy that failed goes on, too, and has told
 * what remains. */
static bool may_be_there(const struct run *run, const struct release *release,
                         const struct value *result)
{
    const char *outcome = value_get_string(result, "outcome");
    const char *action = value_get_string(result, "action");
    bool goes_on =
        release->operation != RELEASE_DESTROY && !release_phase_is_terminal(release->phase);

    if (str_equal(action, plan_action_name(PLAN_READ)))
        return false;
    if (!outcome || goes_on)
        return release->phase == release_working_phase(release->operation) &&
               !str_equal(release->spec_uid, run->subject.uid);
    return !str_equal(action, plan_action_name(PLAN_CREATE)) ||
           (!str_equal(outcome, "skipped") && !str_equal(outcome, "deferred"));
}

static void add_entry(struct reading *reading, const char *id, int64_t revision)
{
    const char *type = strmap_get(&reading->types, id);
    _cleanup_value_ const struct value *entry = NULL;

    if (!type)
        type = guess_type(reading->run, id);
    if (!type)
        return;
    entry = value_pack("{s:s, s:s}", "id", id, "type", type);
    value_add(reading->entries, entry);
    reading->ret->revision = later(reading->ret->revision, revision);
}

/* What a newer Release tells of an id holds. */
static void read_results(struct reading *reading, const struct release *release)
{
    const struct value *results = value_get(release->status, "results");

    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i);
        const char *id = value_get_string(result, "id");
        bool is_removed = was_removed(result);

        if (!id || strmap_get(&reading->settled, id) ||
            (!is_removed && (!may_be_there(reading->run, release, result) ||
                             was_never_planned(reading, release, result))))
            continue;
        strmap_put(&reading->settled, arena_str(&reading->arena, id), reading);
        if (!is_removed)
            add_entry(reading, id, release->revision);
    }
}

/* ---- Releases ---- */

/* Of an earlier Spec's Release that was begun, and has no results, anything may have been done. */
static bool is_open(const struct run *run, const struct release *release)
{
    return !release_phase_is_terminal(release->phase) &&
           release->phase != PHASE_AWAITING_APPROVAL && !value_get(release->status, "results") &&
           !str_equal(release->spec_uid, run->subject.uid);
}

static int read_release(struct reading *reading, int64_t revision, struct error *error)
{
    const struct run *run = reading->run;
    _cleanup_(release_free_p) struct release *release = NULL;
    int r = releases_load(run->context, &run->subject, revision, run->cancel, &release, error);

    if (r < 0 || !release)
        return r;
    /* A Destroy that succeeded left nothing, or what it left is not this Spec's (Orphan). */
    if (release->operation == RELEASE_DESTROY && release->phase == PHASE_SUCCEEDED)
        reading->ret->is_whole = true;
    else
        read_results(reading, release);
    if (release->phase == PHASE_SUCCEEDED && value_get(release->status, "results") &&
        !value_int(value_get(release->status, "omitted"), 0))
        reading->ret->is_whole = true;
    if (is_open(run, release)) {
        reading->is_open = true;
        reading->ret->revision = later(reading->ret->revision, release->revision);
    }
    return 0;
}

int witness_read(const struct run *run, struct witness *ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *entries = value_builder_new();
    struct reading reading = {.run = run,
                              .types = STRMAP_INIT,
                              .settled = STRMAP_INIT,
                              .arena = ARENA_INIT,
                              .entries = entries,
                              .ret = ret};
    struct release_revisions revisions = {0};
    int r = releases_list(run->context, &run->subject, run->cancel, &revisions, error);

    *ret = (struct witness){0};
    reading.is_history = r >= 0 && revisions.count && revisions.count <= MOST_READ &&
                         revisions.items[0] == (int64_t)revisions.count;
    index_types(run, &reading.types);
    value_begin_array(entries);
    for (size_t i = 0; r >= 0 && i < revisions.count && i < MOST_READ && !ret->is_whole; i++)
        r = read_release(&reading, revisions.items[i], error);
    ret->is_whole = ret->is_whole && !reading.is_open;
    value_end_array(entries);
    value_builder_finish(entries, &ret->entries, NULL);
    release_revisions_done(&revisions);
    strmap_done(&reading.types);
    strmap_done(&reading.settled);
    arena_done(&reading.arena);
    return r;
}
