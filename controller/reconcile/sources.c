#include "controller/reconcile/sources.h"

#include "controller/reconcile/inputs/source_watches.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* A Preview is made once. */
static bool is_preview(const struct attempt *attempt)
{
    return attempt->release && attempt->release->operation == RELEASE_PREVIEW;
}

static void follow(const struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    _cleanup_free_ char *user = run_user(run);
    struct spec_sources list;

    if (spec_sources_read(run->object, &list, NULL) >= 0)
        source_watches_follow(run->context->source_watches, &attempt->object, user, &list);
    spec_sources_done(&list);
}

static void note(const struct attempt *attempt, const struct source_reading *sources)
{
    if (!is_preview(attempt))
        source_watches_note(attempt->run.context->source_watches, &attempt->object, &sources->list);
}

/* The sizes that the sources had are known, and are those of what is read next, or else it says
 * that they changed. Before follow(). */
static void recall(const struct attempt *attempt, struct source_reading *sources)
{
    struct source_watches *watches = attempt->run.context->source_watches;

    if (spec_sources_read(sources->run.object, &sources->list, NULL) < 0 ||
        !source_watches_recall(watches, &attempt->object, &sources->list)) {
        spec_sources_done(&sources->list);
        return;
    }
    spec_sources_digest(&sources->list, &sources->run, sources->digest);
    sources->read_at = context_monotonic(attempt->run.context);
    sources->stage = SOURCES_SIZED;
    sources->is_recalled = true;
}

static void begin(struct attempt *attempt)
{
    attempt->sources = source_reading_new(&attempt->run, attempt->entry);
    if (!is_preview(attempt) && !attempt->operation)
        recall(attempt, attempt->sources);
    if (!is_preview(attempt))
        follow(attempt);
    if (!attempt->sources->is_recalled)
        source_reading_go_on(attempt->sources, SOURCES_SIZING, 0);
}

static void size_again(struct source_reading *sources, int64_t not_before)
{
    sources->is_recalled = false;
    err_clear(&sources->problem);
    spec_sources_done(&sources->list);
    source_reading_go_on(sources, SOURCES_SIZING, not_before);
}

/* The attempt has an error of theirs, which ends them. */
static int give_up(struct attempt *attempt, struct error *error)
{
    struct source_reading *sources = TAKE(attempt->sources);
    int r = err_copy(error, &sources->problem);

    str_copy(attempt->run.sources_digest, HASH_HEX_SIZE, sources->digest);
    sources->list.size = (struct source_size){0}; /* it is not to be expected again */
    note(attempt, sources);
    source_reading_drop(sources);
    return r;
}

/* Memory for what is read next. What exceeds the budget of all operations would never be safe. */
static int reserve(struct attempt *attempt, struct error *error)
{
    struct source_reading *sources = attempt->sources;
    size_t most = desk_budget_of(attempt->entry)->config.bytes;

    if (most && sources->list.size.memory > most) {
        sources->r = err_set(&sources->problem, ERR_TOO_LARGE, "TooLarge",
                             "resourcesFrom: the sources may take %zu MiB of memory, of at most "
                             "%zu MiB (--operation-memory)",
                             sources->list.size.memory >> 20, most >> 20);
        return give_up(attempt, error);
    }
    return attempt_reserve(attempt, sources->list.size.memory) ? SOURCES_UNDER_WAY
                                                               : SOURCES_NEED_MEMORY;
}

static int on_sized(struct attempt *attempt, struct error *error)
{
    struct source_reading *sources = attempt->sources;
    const struct value *status = value_get(attempt->run.object, "status");
    bool is_new = !str_equal(value_get_string(status, "observedSources"), sources->digest);
    int r;

    if (sources->r < 0)
        return give_up(attempt, error);
    r = reserve(attempt, error);
    if (r == SOURCES_UNDER_WAY)
        source_reading_go_on(sources, SOURCES_READING,
                             is_new && sources->list.count > 1 ? sources->read_at + SOURCES_QUIET
                                                               : 0);
    return r;
}

static void take(struct attempt *attempt)
{
    struct source_reading *sources = TAKE(attempt->sources);
    struct run *run = &attempt->run;
    const struct value *fields =
        value_with(value_get(run->object, "spec"), "resources", sources->resources);

    value_unref(run->source);
    value_unref(run->sources);
    run->source = value_with(run->object, "spec", fields);
    run->sources = spec_sources_value(&sources->list);
    run->source_memory = sources->memory;
    str_copy(run->sources_digest, HASH_HEX_SIZE, sources->digest);
    value_unref(fields);
    note(attempt, sources);
    source_reading_drop(sources);
}

static bool has_sources(const struct attempt *attempt)
{
    return value_count(value_path(attempt->run.object, "spec", "resourcesFrom", NULL)) > 0;
}

int sources_gather(struct attempt *attempt, struct error *error)
{
    struct source_reading *sources = attempt->sources;
    enum source_stage stage;

    if (!has_sources(attempt)) {
        if (!is_preview(attempt))
            source_watches_forget(attempt->run.context->source_watches, &attempt->object);
        return SOURCES_ARE_THERE;
    }
    if (!sources) {
        begin(attempt);
        sources = attempt->sources;
    }
    stage = source_reading_stage(sources);
    if (stage == SOURCES_SIZED)
        return on_sized(attempt, error);
    if (stage != SOURCES_READ)
        return SOURCES_UNDER_WAY;
    if (sources->r == ERR_CONFLICT || (sources->r < 0 && sources->is_recalled)) {
        size_again(sources, 0);
        return SOURCES_UNDER_WAY;
    }
    if (sources->r < 0)
        return give_up(attempt, error);
    take(attempt);
    return SOURCES_ARE_THERE;
}

/* What cannot be read now is no reason to end what is under way. It is read again if that may
 * pass. */
void sources_look_again(struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    struct source_reading *sources = attempt->sources;

    if (!sources && (!has_sources(attempt) || !run->sources_digest[0] ||
                     !source_watches_saw_change(run->context->source_watches, &attempt->object)))
        return;
    if (!sources) {
        begin(attempt);
        return;
    }
    if (source_reading_stage(sources) != SOURCES_SIZED)
        return;
    if (sources->r < 0 && run_may_pass(sources->r)) {
        size_again(sources, context_monotonic(run->context) + run->policy.retry_interval);
        return;
    }
    if (sources->r >= 0 && !str_equal(sources->digest, run->sources_digest) &&
        !attempt->superseded_by)
        attempt->superseded_by = str_new("superseded by a change of a source (resourcesFrom)");
    attempt->sources = NULL;
    note(attempt, sources);
    source_reading_drop(sources);
}
