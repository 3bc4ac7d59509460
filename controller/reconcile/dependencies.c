#include "controller/reconcile/dependencies.h"

#include "controller/desk/dependencies.h"
#include "controller/reconcile/records/api.h"
#include "controller/reconcile/run/sight.h"
#include "controller/reconcile/tell.h"
#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/spec/check.h"

#define NAMED 3 /* Specs that a message names */

/* ---- What it depends on ---- */

void dependencies_note(const struct run *run)
{
    struct spec_awaited awaited[LIMIT_AWAITED];
    struct spec_key on[LIMIT_AWAITED];
    _cleanup_free_ char *user = run_user(run);
    struct desk_needs needs = {.on = on, .user = user};

    needs.count = spec_awaited_read(run->object, run->context->no_cross_namespace, awaited);
    for (size_t i = 0; i < needs.count; i++)
        on[i] = (struct spec_key){awaited[i].namespace_name, awaited[i].name};
    desk_note_needs(run->context->desk, &run->subject.key, &needs);
}

/* ---- One of them ---- */

/* What keeps it from being what a Spec may depend on. */
struct obstacle {
    char *why; /* owned; NULL: nothing does */
    bool is_polled;
};

/* It is of another operator's, or of a namespace that this one does not watch. */
static int judge_unwatched(const struct run *run, const struct spec_key *key, const char *user,
                           struct obstacle *ret, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r = sight_get(run, key, user, NULL, &object, error);

    if (r < 0)
        return r;
    if (run_ready_generation_of(object) !=
        value_int(value_path(object, "metadata", "generation", NULL), 0)) {
        ret->why = str_new("is not Ready (polled, as this operator does not watch it)");
        ret->is_polled = true;
    }
    return 0;
}

static int judge_seen(const struct run *run, const struct spec_key *key, const char *user,
                      const struct value *metadata, struct obstacle *ret, struct error *error)
{
    int64_t generation = value_int(value_get(metadata, "generation"), 0);
    struct desk_readiness readiness =
        desk_readiness_of(run->context->desk, key, value_get_string(metadata, "uid"));

    if (value_get(metadata, "deletionTimestamp"))
        ret->why = str_new("is being deleted");
    else if (!readiness.is_listed)
        return judge_unwatched(run, key, user, ret, error);
    else if (readiness.generation != generation)
        ret->why = readiness.reason ? str_printf("is not Ready in generation %lld: %s",
                                                 (long long)generation, readiness.reason)
                                    : str_new("is not Ready");
    return 0;
}

static int judge(const struct run *run, const struct spec_key *key, struct obstacle *ret,
                 struct error *error)
{
    bool is_own = str_equal(key->namespace_name, run->subject.key.namespace_name);
    _cleanup_free_ char *user = sight_user(run, key->namespace_name);
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r = sight_get(run, key, user, KUBE_METADATA, &object, &problem);

    if (r >= 0)
        r = judge_seen(run, key, user, value_get(object, "metadata"), ret, &problem);
    if (!sight_is_denied(r))
        return r < 0 ? err_copy(error, &problem) : 0;
    ret->why = is_own || !user ? str_new("is not there")
                               : str_printf("is not there, or %s may not read it", user);
    ret->is_polled = !is_own;
    return 0;
}

/* ---- Cycles ---- */

/* "team-a/web -> team-a/db -> … -> team-a/web" */
static char *show_cycle(const struct run *run, const struct desk_path *path)
{
    const struct spec_key *own = &run->subject.key;
    struct buf text = BUF_INIT;

    buf_printf(&text, "%s/%s", own->namespace_name, own->name);
    for (size_t i = 0; i < path->count; i++) {
        _cleanup_free_ char *shown = sight_show(run, path->keys[i]);

        buf_printf(&text, " -> %s", shown);
    }
    if (path->is_cut)
        buf_add_str(&text, " -> …");
    return buf_take(&text);
}

/* keys: the Spec may read them. */
static int check_cycle(const struct run *run, const struct spec_key *keys, size_t count,
                       struct error *error)
{
    struct desk_path path;
    _cleanup_free_ char *shown = NULL;

    if (!desk_find_path(run->context->desk, keys, count, &run->subject.key, &path))
        return 0;
    shown = show_cycle(run, &path);
    desk_path_done(&path);
    return err_set(error, ERR_INVALID, CYCLIC_DEPENDENCY, "dependsOn forms a cycle: %s", shown);
}

/* ---- All of them ---- */

struct look {
    struct buf waits; /* "db (is not there), team-b/net (…)" */
    size_t count;     /* that it waits for */
    bool is_polled;
};

static void add_obstacle(struct look *look, const struct run *run, const struct spec_key *key,
                         const struct obstacle *obstacle)
{
    bool is_own = str_equal(key->namespace_name, run->subject.key.namespace_name);

    look->is_polled = look->is_polled || obstacle->is_polled;
    if (look->count++ < NAMED)
        buf_printf(&look->waits, "%s%s%s%s (%s)", look->count > 1 ? ", " : "",
                   is_own ? "" : key->namespace_name, is_own ? "" : "/", key->name, obstacle->why);
}

static int look_at_all(const struct run *run, const struct spec *spec, struct look *ret,
                       struct error *error)
{
    struct spec_key seen[LIMIT_AWAITED];
    size_t n_seen = 0;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < spec->n_awaited; i++) {
        const struct spec_key key = {spec->awaited[i].namespace_name, spec->awaited[i].name};
        struct obstacle obstacle = {0};

        r = judge(run, &key, &obstacle, error);
        if (r >= 0 && obstacle.why && !obstacle.is_polled)
            seen[n_seen++] = key;
        if (r >= 0 && obstacle.why)
            add_obstacle(ret, run, &key, &obstacle);
        free(obstacle.why);
    }
    return r >= 0 ? check_cycle(run, seen, n_seen, error) : r;
}

static int say(struct attempt *attempt, const struct look *look, struct error *error)
{
    const struct run *run = &attempt->run;
    _cleanup_free_ char *more =
        look->count > NAMED ? str_printf(" and %zu more", look->count - NAMED) : str_new("");
    _cleanup_free_ char *message =
        str_printf("waits for %s%s", look->waits.length ? look->waits.data : "", more);
    struct outcome outcome = {.verdict = {"False", "DependencyNotReady", message,
                                          PROGRESS_RECONCILING, run_last(run).healthy},
                              .is_end = true,
                              .waits = true};

    return tell_outcome(attempt, &outcome, TELL_SPEC, error);
}

static int wait_for(struct attempt *attempt, const struct look *look,
                    struct reconcile_result *result, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct spec_policy *policy = &run->policy;
    bool is_said = run_says(run, "False", "DependencyNotReady");
    /* What was begun of an earlier generation does not go on. */
    int r = is_said || !run_last_attempted(run) ? 0 : run_supersede(run, NULL, error);

    if (r >= 0)
        r = say(attempt, look, error);
    *result = (struct reconcile_result){.kind = RECONCILE_AFTER,
                                        .after = look->is_polled ? policy->retry_interval
                                                                 : policy->interval,
                                        .priority = WORKQUEUE_RESYNC};
    attempt_end(attempt);
    return r < 0 ? r : 1;
}

int dependencies_await(struct attempt *attempt, struct reconcile_result *result,
                       struct error *error)
{
    const struct run *run = &attempt->run;
    struct look look = {.waits = BUF_INIT};
    int r = 0;

    if (!attempt->spec || !attempt->spec->n_awaited)
        return 0;
    if (run->hold.operation != RELEASE_APPLY ||
        run_ready_generation_of(run->object) == run->subject.generation)
        return 0; /* it is not in force itself, or it was applied already */
    desk_set_held(run->context->desk, &run->subject.key, true);
    r = look_at_all(run, attempt->spec, &look, error);
    if (r >= 0 && look.count)
        r = wait_for(attempt, &look, result, error);
    else if (r >= 0)
        desk_set_held(run->context->desk, &run->subject.key, false);
    buf_done(&look.waits);
    return r;
}
