#include "controller/reconcile/inputs/source_reading.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"

#define READ_TIMEOUT 30000 /* ms, for all */

/* ---- On the executor ---- */

/* What is done with the bytes of a source. */
typedef int use_source(void *arg, struct spec_source *source, const struct buf *bytes,
                       struct error *error);

static int for_each(struct source_reading *sources, use_source *use, void *arg)
{
    const struct run *run = &sources->run;
    struct slot slot = {.slots = run->context->slots,
                        .namespace_name = run->subject.key.namespace_name};
    int64_t deadline = context_monotonic(sources->run.context) + READ_TIMEOUT;
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
    struct source_reading *sources = arg;
    int r = source_text_measure(bytes->data, bytes->length, &sources->list.size, error);

    if (r < 0)
        err_wrap(error, "%s", source->label);
    return r;
}

static void size_all(struct source_reading *sources)
{
    sources->digest[0] = '\0';
    sources->r = spec_sources_read(sources->run.object, &sources->list, &sources->problem);
    if (sources->r >= 0)
        sources->r = for_each(sources, size_one, sources);
    if (sources->r >= 0)
        spec_sources_digest(&sources->list, &sources->run, sources->digest);
    sources->read_at = context_monotonic(sources->run.context);
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

static void read_all(struct source_reading *sources)
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
static bool take_work(struct source_reading *sources, enum source_stage *ret, int64_t *ret_due)
{
    LOCKED(&sources->lock);

    *ret = sources->stage;
    *ret_due = CLOCK_FOREVER;
    if (sources->is_working || !sources->entry || *ret == SOURCES_SIZED || *ret == SOURCES_READ)
        return false;
    if (context_monotonic(sources->run.context) < sources->not_before) {
        *ret_due = sources->not_before;
        return false;
    }
    sources->is_working = true;
    return true;
}

static struct task_answer work(void *arg)
{
    struct source_reading *sources = arg;
    enum source_stage stage;
    int64_t due;

    if (!take_work(sources, &stage, &due))
        return (struct task_answer){.due = due};
    if (stage == SOURCES_SIZING)
        size_all(sources);
    else
        read_all(sources);
    LOCKED(&sources->lock);
    sources->is_working = false;
    sources->stage = stage == SOURCES_SIZING ? SOURCES_SIZED : SOURCES_READ;
    if (sources->entry)
        desk_wake(sources->entry);
    return (struct task_answer){.ran = true};
}

/* ---- For the attempt ---- */

struct source_reading *source_reading_new(const struct run *run, struct desk_entry *entry)
{
    const struct value *metadata = value_get(run->object, "metadata");
    struct source_reading *sources = NEW(struct source_reading);

    pthread_mutex_init(&sources->lock, NULL);
    sources->entry = entry;
    sources->cancel = cancel_new(NULL);
    sources->run = (struct run){.context = run->context,
                                .cancel = sources->cancel,
                                .subject = {.key = {value_get_string(metadata, "namespace"),
                                                    value_get_string(metadata, "name")}},
                                .object = value_ref(run->object),
                                .uid = str_new(run->uid)};
    run_read_policy(&sources->run);
    sources->task = task_new(run->context->executor, &sources->run.subject.key, work, sources);
    return sources;
}

static void source_reading_free(void *arg)
{
    struct source_reading *sources = arg;

    spec_sources_done(&sources->list);
    value_unref(sources->resources);
    run_done(&sources->run);
    cancel_free(sources->cancel);
    pthread_mutex_destroy(&sources->lock);
    free(sources);
}

void source_reading_drop(struct source_reading *sources)
{
    if (!sources)
        return;
    pthread_mutex_lock(&sources->lock);
    sources->entry = NULL;
    pthread_mutex_unlock(&sources->lock);
    cancel_fire(sources->cancel, "Superseded");
    task_drop(sources->task, source_reading_free, sources);
}

enum source_stage source_reading_stage(struct source_reading *sources)
{
    LOCKED(&sources->lock);

    return sources->stage;
}

void source_reading_go_on(struct source_reading *sources, enum source_stage stage,
                          int64_t not_before)
{
    pthread_mutex_lock(&sources->lock);
    sources->stage = stage;
    sources->not_before = not_before;
    pthread_mutex_unlock(&sources->lock);
    task_poke(sources->task);
}
