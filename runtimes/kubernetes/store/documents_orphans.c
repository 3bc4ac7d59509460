/* Chunks and segments of documents that have no head, because another process removed the document
 * while they were made: documents_private.h. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define TIDY_DEADLINE 60000 /* ms */

struct orphan {
    char *uid, *name, *head_name;
    const struct kube_kind *kind;
    int64_t since; /* ms, monotonic: when it was first seen without a head */
};

void kube_orphan_free(struct orphan *orphan)
{
    if (!orphan)
        return;
    free(orphan->uid);
    free(orphan->name);
    free(orphan->head_name);
    free(orphan);
}

static void orphans_done(struct strmap *orphans)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(orphans, e));)
        kube_orphan_free(e->value);
    strmap_done(orphans);
}

struct search {
    const struct kube_kind *kind;
    struct strmap found; /* chunks and segments: uid -> struct orphan */
    struct strmap heads; /* name -> itself */
};

static void search_done(struct search *search)
{
    orphans_done(&search->found);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&search->heads, e));)
        free(e->value);
    strmap_done(&search->heads);
}

/* Runs on the request loop's thread. A list may return an item twice. */
static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct search *search = arg;
    const struct value *metadata = value_get(item, "metadata");
    const char *name = value_get_string(metadata, "name"), *uid = value_get_string(metadata, "uid"),
               *head = value_get_string(value_get(metadata, "labels"), KUBE_DOCUMENT_LABEL);
    struct orphan *orphan;

    (void)error;
    if (!name || !uid || !head)
        return 0;
    if (str_equal(name, head)) {
        char *copy = str_new(name);

        free(strmap_remove(&search->heads, name));
        strmap_put(&search->heads, copy, copy);
        return 0;
    }
    orphan = NEW(struct orphan);
    *orphan = (struct orphan){str_new(uid), str_new(name), str_new(head), search->kind,
                              system_clock.monotonic(&system_clock)};
    kube_orphan_free(strmap_remove(&search->found, uid));
    strmap_put(&search->found, orphan->uid, orphan);
    return 0;
}

/* Heads are listed last: a document that is made meanwhile has one. */
static int find(const struct task *task, struct search *search, struct error *error)
{
    static const struct kube_kind *const kinds[] = {&kube_secrets, &kube_config_maps};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
        struct kube_list list = {
            .ref = {kinds[i], task->store->namespace_name, NULL, NULL},
            .selector = {.labels = KUBE_DOCUMENT_LABEL},
            .metadata_only = true,
            .wait = {&system_clock, task->deadline, task->call->cancel},
            .on_item = on_item,
            .arg = search,
        };

        search->kind = kinds[i];
        r = kube_list(task->store->client, &list, NULL, error);
    }
    return r;
}

/* Moves what has no head. What was known before keeps its time. */
static void take_headless(struct search *search, const struct strmap *known, struct strmap *ret)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&search->found, e));) {
        struct orphan *orphan = e->value;
        const struct orphan *before = strmap_get(known, orphan->uid);

        if (strmap_get(&search->heads, orphan->head_name))
            continue;
        if (before)
            orphan->since = before->since;
        strmap_remove(&search->found, orphan->uid);
        strmap_put(ret, orphan->uid, orphan);
    }
}

/* Unless it is another object by now. */
static int remove_orphan(const struct task *task, const struct orphan *orphan, struct error *error)
{
    _cleanup_value_ const struct value *options =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", orphan->uid);
    struct error problem = {0};
    int r = kube_object_get(task, &kube_config_maps, orphan->head_name, true, NULL, &problem);

    if (r != ERR_NOT_FOUND)
        return r == 0 ? 0 : err_copy(error, &problem);
    r = kube_object_swap(
        task,
        &(struct swap){
            .method = "DELETE", .kind = orphan->kind, .name = orphan->name, .body = options},
        NULL, &problem);
    return r == 0 || r == ERR_NOT_FOUND || r == ERR_CONFLICT ? 0 : err_copy(error, &problem);
}

int kube_documents_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct documents *store = (struct documents *)base;
    const struct task task = {
        store, call,
        call->deadline ? call->deadline : system_clock.monotonic(&system_clock) + TIDY_DEADLINE};
    struct search search = {0};
    struct strmap orphans;
    int64_t now;
    int r;

    strmap_init(&search.found);
    strmap_init(&search.heads);
    strmap_init(&orphans);
    r = find(&task, &search, error);
    if (r < 0) {
        search_done(&search);
        strmap_done(&orphans);
        return r;
    }
    take_headless(&search, &store->orphans, &orphans);
    search_done(&search);
    orphans_done(&store->orphans);
    store->orphans = orphans;
    now = system_clock.monotonic(&system_clock);
    for (struct strmap_entry *e = NULL; r == 0 && (e = strmap_next(&store->orphans, e));) {
        const struct orphan *orphan = e->value;

        if (now - orphan->since >= store->orphan_age)
            r = remove_orphan(&task, orphan, error);
    }
    return r;
}
