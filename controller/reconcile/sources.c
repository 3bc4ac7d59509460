#include "controller/reconcile/sources.h"

#include "controller/reconcile/source_text.h"
#include "controller/reconcile/source_watches.h"
#include "controller/reconcile/spec_source.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

#define READ_TIMEOUT 30000 /* ms, for all */

/* The stages follow one another; after READING, SIZING may come again. */
enum stage {
    SIZING,  /* the task's */
    SIZED,   /* the attempt's */
    READING, /* the task's */
    READ,    /* the attempt's */
};

struct sources {
    pthread_mutex_t lock; /* guards the next four; what is below belongs to who has the stage */
    enum stage stage;
    bool is_working;          /* a thread is at it */
    struct desk_entry *entry; /* NULL: dropped */
    int64_t not_before;       /* ms, monotonic: the task's next stage begins */

    bool is_recalled; /* what is read next is expected to be as it was before */
    struct run run;   /* a copy: the attempt's is freed meanwhile */
    struct cancel *cancel;
    struct task *task;

    struct spec_sources list;
    char digest[HASH_HEX_SIZE];    /* of the contents; "": they could not be read */
    const struct value *resources; /* a reference */
    size_t memory;                 /* bytes that the resources take */
    int64_t read_at;               /* ms, monotonic */
    int r;
    struct error problem;
};

/* ---- On the executor ---- */

static int64_t now_of(const struct sources *sources)
{
    const struct clock_source *clock = sources->run.context->clock;

    return clock->monotonic(clock);
}

/* What is done with the bytes of a source. */
typedef int use_source(void *arg, struct spec_source *source, const struct buf *bytes,
                       struct error *error);

static int for_each(struct sources *sources, use_source *use, void *arg)
{
    const struct run *run = &sources->run;
    struct slot slot = {.slots = run->context->slots,
                        .namespace_name = run->subject.key.namespace_name};
    int64_t deadline = now_of(sources) + READ_TIMEOUT;
    struct error *error = &sources->problem;
    int r = slot_take(&slot, deadline, run->cancel, error);

    for (size_t i = 0; i < sources->list.count && r >= 0; i++) {
        struct spec_source *source = &sources->list.items[i];
        _cleanup_buf_ struct buf bytes = BUF_INIT;

        r = spec_source_read(run, source, deadline, &bytes, error);
        if (r >= 0)
            r = use(arg, source, &bytes, error);
        if (source->is_secret && bytes.length)
            explicit_bzero(bytes.data, bytes.length);
    }
    slot_give_back(&slot);
    return r;
}

static int size_one(void *arg, struct spec_source *source, const struct buf *bytes,
                    struct error *error)
{
    struct sources *sources = arg;
    struct error problem = {0};

    if (source_text_measure(bytes->data, bytes->length, &sources->list.size, &problem) >= 0)
        return 0;
    err_wrap(&problem, "%s", source->label);
    return err_copy(error, &problem);
}

static void size_all(struct sources *sources)
{
    sources->digest[0] = '\0';
    sources->r = spec_sources_read(sources->run.object, &sources->list, &sources->problem);
    if (sources->r >= 0)
        sources->r = for_each(sources, size_one, sources);
    if (sources->r >= 0)
        spec_sources_digest(&sources->list, &sources->run, sources->digest);
    sources->read_at = now_of(sources);
}

struct reading {
    struct source_resources resources;
    const struct spec_sources *before; /* as it was sized */
    size_t index;
};

static int read_one(void *arg, struct spec_source *source, const struct buf *bytes,
                    struct error *error)
{
    struct reading *reading = arg;
    const struct spec_source *before = &reading->before->items[reading->index++];

    if (!str_equal(before->digest, source->digest) || !str_equal(before->uid, source->uid))
        return err_set(error, ERR_CONFLICT, NULL, "%s: it has just changed", source->label);
    return source_resources_add(&reading->resources, source->label, source->is_secret, bytes->data,
                                bytes->length, error);
}

static void read_all(struct sources *sources)
{
    const struct value *own = value_path(sources->run.object, "spec", "resources", NULL);
    struct spec_sources before = sources->list;
    struct reading reading = {.before = &before};

    source_resources_init(&reading.resources);
    source_resources_add_own(&reading.resources, own);
    sources->r = spec_sources_read(sources->run.object, &sources->list, &sources->problem);
    if (sources->r >= 0)
        sources->r = for_each(sources, read_one, &reading);
    if (sources->r >= 0)
        sources->r =
            source_resources_finish(&reading.resources, &sources->resources, &sources->problem);
    sources->list.size = before.size;
    sources->memory = reading.resources.memory + value_memory(sources->resources);
    source_resources_done(&reading.resources);
    spec_sources_done(&before);
}

/* The work that there is now. *ret_due: else when there is some. */
static bool take_work(struct sources *sources, enum stage *ret, int64_t *ret_due)
{
    LOCKED(&sources->lock);

    *ret = sources->stage;
    *ret_due = CLOCK_FOREVER;
    if (sources->is_working || !sources->entry || *ret == SIZED || *ret == READ)
        return false;
    if (now_of(sources) < sources->not_before) {
        *ret_due = sources->not_before;
        return false;
    }
    sources->is_working = true;
    return true;
}

static struct task_answer work(void *arg)
{
    struct sources *sources = arg;
    enum stage stage;
    int64_t due;

    if (!take_work(sources, &stage, &due))
        return (struct task_answer){.due = due};
    if (stage == SIZING)
        size_all(sources);
    else
        read_all(sources);
    LOCKED(&sources->lock);
    sources->is_working = false;
    sources->stage = stage == SIZING ? SIZED : READ;
    if (sources->entry)
        desk_wake(sources->entry);
    return (struct task_answer){.ran = true};
}

/* ---- For the attempt ---- */

static void sources_free(void *arg)
{
    struct sources *sources = arg;

    spec_sources_done(&sources->list);
    value_unref(sources->resources);
    run_done(&sources->run);
    cancel_free(sources->cancel);
    pthread_mutex_destroy(&sources->lock);
    free(sources);
}

void sources_drop(struct sources *sources)
{
    if (!sources)
        return;
    pthread_mutex_lock(&sources->lock);
    sources->entry = NULL;
    pthread_mutex_unlock(&sources->lock);
    cancel_fire(sources->cancel, "Superseded");
    task_drop(sources->task, sources_free, sources);
}

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

static void note(const struct attempt *attempt, const struct sources *sources)
{
    if (!is_preview(attempt))
        source_watches_note(attempt->run.context->source_watches, &attempt->object, &sources->list);
}

/* The sizes that the sources had are known, and are those of what is read next, or else it says
 * that they changed. Before follow(). */
static void recall(const struct attempt *attempt, struct sources *sources)
{
    struct source_watches *watches = attempt->run.context->source_watches;

    if (spec_sources_read(sources->run.object, &sources->list, NULL) < 0 ||
        !source_watches_recall(watches, &attempt->object, &sources->list)) {
        spec_sources_done(&sources->list);
        return;
    }
    spec_sources_digest(&sources->list, &sources->run, sources->digest);
    sources->read_at = now_of(sources);
    sources->stage = SIZED;
    sources->is_recalled = true;
}

static void begin(struct attempt *attempt)
{
    const struct run *run = &attempt->run;
    const struct value *metadata = value_get(run->object, "metadata");
    struct sources *sources = NEW(struct sources);

    pthread_mutex_init(&sources->lock, NULL);
    sources->entry = attempt->entry;
    sources->cancel = cancel_new(NULL);
    sources->run = (struct run){.context = run->context,
                                .cancel = sources->cancel,
                                .subject = {.key = {value_get_string(metadata, "namespace"),
                                                    value_get_string(metadata, "name")}},
                                .object = value_ref(run->object),
                                .uid = str_new(run->uid)};
    run_read_policy(&sources->run);
    sources->task = task_new(run->context->executor, &sources->run.subject.key, work, sources);
    attempt->sources = sources;
    if (!is_preview(attempt) && !attempt->operation)
        recall(attempt, sources);
    if (!is_preview(attempt))
        follow(attempt);
    if (sources->stage == SIZING)
        task_poke(sources->task);
}

static void go_on(struct sources *sources, enum stage stage, int64_t not_before)
{
    pthread_mutex_lock(&sources->lock);
    sources->stage = stage;
    sources->not_before = not_before;
    pthread_mutex_unlock(&sources->lock);
    task_poke(sources->task);
}

static void size_again(struct sources *sources, int64_t not_before)
{
    sources->is_recalled = false;
    err_clear(&sources->problem);
    spec_sources_done(&sources->list);
    go_on(sources, SIZING, not_before);
}

/* The attempt has an error of theirs, which ends them. */
static int give_up(struct attempt *attempt, struct error *error)
{
    struct sources *sources = TAKE(attempt->sources);
    int r = err_copy(error, &sources->problem);

    str_copy(attempt->run.sources_digest, HASH_HEX_SIZE, sources->digest);
    sources->list.size = (struct source_size){0}; /* it is not to be expected again */
    note(attempt, sources);
    sources_drop(sources);
    return r;
}

/* Memory for what is read next. What exceeds the budget of all operations would never be safe. */
static int reserve(struct attempt *attempt, struct error *error)
{
    struct sources *sources = attempt->sources;
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
    struct sources *sources = attempt->sources;
    const struct value *status = value_get(attempt->run.object, "status");
    bool is_new = !str_equal(value_get_string(status, "observedSources"), sources->digest);
    int r;

    if (sources->r < 0)
        return give_up(attempt, error);
    r = reserve(attempt, error);
    if (r == SOURCES_UNDER_WAY)
        go_on(sources, READING,
              is_new && sources->list.count > 1 ? sources->read_at + SOURCES_QUIET : 0);
    return r;
}

static void take(struct attempt *attempt)
{
    struct sources *sources = TAKE(attempt->sources);
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
    sources_drop(sources);
}

static enum stage stage_of(struct sources *sources)
{
    LOCKED(&sources->lock);

    return sources->stage;
}

static bool has_sources(const struct attempt *attempt)
{
    return value_count(value_path(attempt->run.object, "spec", "resourcesFrom", NULL)) > 0;
}

int sources_gather(struct attempt *attempt, struct error *error)
{
    struct sources *sources = attempt->sources;
    enum stage stage;

    if (!has_sources(attempt)) {
        if (!is_preview(attempt))
            source_watches_forget(attempt->run.context->source_watches, &attempt->object);
        return SOURCES_ARE_THERE;
    }
    if (!sources) {
        begin(attempt);
        sources = attempt->sources;
    }
    stage = stage_of(sources);
    if (stage == SIZED)
        return on_sized(attempt, error);
    if (stage != READ)
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
    struct sources *sources = attempt->sources;

    if (!sources && (!has_sources(attempt) || !run->sources_digest[0] ||
                     !source_watches_saw_change(run->context->source_watches, &attempt->object)))
        return;
    if (!sources) {
        begin(attempt);
        return;
    }
    if (stage_of(sources) != SIZED)
        return;
    if (sources->r < 0 && run_may_pass(sources->r)) {
        size_again(sources, now_of(sources) + run->policy.retry_interval);
        return;
    }
    if (sources->r >= 0 && !str_equal(sources->digest, run->sources_digest) &&
        !attempt->superseded_by)
        attempt->superseded_by = str_new("superseded by a change of a source (resourcesFrom)");
    attempt->sources = NULL;
    note(attempt, sources);
    sources_drop(sources);
}
