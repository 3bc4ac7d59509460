/* Lists of Releases, by metadata alone: history_private.h. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/history/history_private.h"

void kube_history_heads_done(struct history_heads *heads)
{
    for (size_t i = 0; i < heads->count; i++)
        free((char *)(uintptr_t)heads->items[i].spec_digest);
    free(heads->items);
}

static bool is_named_by(const struct spec_key *spec, int64_t revision, const char *name)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    bool is = str_equal(release_name(&arena, spec->name, revision), name);

    return is;
}

/* Runs on the request loop's thread. A list may return an item twice. */
static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct history_heads *heads = arg;
    struct release_head head = {.spec = *heads->spec, .generation = kube_history_generation(item)};

    (void)error;
    if (!release_revision_parse(kube_history_annotation(item, HISTORY_REVISION), &head.revision) ||
        !is_named_by(heads->spec, head.revision, kube_history_metadata(item, "name")))
        return 0;
    release_operation_parse(kube_history_annotation(item, HISTORY_OPERATION), &head.operation);
    head.spec_digest = str_new(kube_history_digest(item, HISTORY_SPEC));
    heads->items = mem_grow(heads->items, heads->count, &heads->capacity, sizeof(*heads->items));
    heads->items[heads->count++] = head;
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    int64_t left = ((const struct release_head *)a)->revision;
    int64_t right = ((const struct release_head *)b)->revision;

    return left > right ? -1 : left < right;
}

static void sort(struct history_heads *heads)
{
    size_t kept = 0;

    if (heads->count)
        qsort(heads->items, heads->count, sizeof(*heads->items), newest_first);
    for (size_t i = 0; i < heads->count; i++)
        if (!kept || heads->items[i].revision != heads->items[kept - 1].revision)
            heads->items[kept++] = heads->items[i];
        else
            free((char *)(uintptr_t)heads->items[i].spec_digest);
    heads->count = kept;
}

int kube_history_find(struct release_history *base, const struct spec_key *spec,
                      const struct store_call *call, struct history_heads *ret, struct error *error)
{
    _cleanup_(kube_history_end) struct history_task task = {0};
    _cleanup_free_ char *field = str_printf("spec.specRef.name=%s", spec->name);
    int r;

    kube_history_begin(&task, base, spec, 0, call);
    *ret = (struct history_heads){.spec = spec};
    r = kube_list(task.client,
                  &(struct kube_list){.ref = {&kube_releases, spec->namespace_name, NULL, NULL},
                                      .selector = {KUBE_GENERATED_LABEL "=true", field},
                                      .metadata_only = true,
                                      .wait = {&system_clock, task.deadline, call->cancel},
                                      .on_item = on_item,
                                      .arg = ret},
                  NULL, error);
    if (r < 0)
        err_wrap(error, "Releases of %s/%s", spec->namespace_name, spec->name);
    else
        sort(ret);
    return r;
}
