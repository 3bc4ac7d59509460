#include "runtimes/kubernetes/store/documents.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/record.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define OWN_DEADLINE 60000   /* ms */
#define ORPHAN_AGE   3600000 /* ms */

/* ---- Calls ---- */

static struct task task_of(const struct document_file *file, const struct store_call *call)
{
    int64_t own = system_clock.monotonic(&system_clock) + OWN_DEADLINE;

    return (struct task){(struct documents *)file->base.store, call,
                         call->deadline ? call->deadline : own};
}

static int may_change(const struct document_file *file, const struct store_call *call,
                      struct error *error)
{
    if (file->mode != STORE_WRITE)
        return err_set(error, ERR_INVALID, NULL, "the document is open for reading only");
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
    return permit_ask(call->permit, call->use, error);
}

/* ---- Reading ---- */

/* Reads the parts that a head names. A damaged document counts as read: it may be replaced or
 * removed. */
static int read_head(const struct task *task, struct document_file *file,
                     const struct value *object, struct document *to, struct error *error)
{
    struct head head = {0};
    int r = kube_head_parse(file, object, &head, error);

    kube_document_forget(file);
    if (r < 0) {
        file->seen.version = str_new(kube_version_of(object));
        return r;
    }
    if (!kube_head_exists(&head)) {
        file->seen = head;
        return err_set(error, ERR_NOT_FOUND, NULL, "the document was removed");
    }
    r = kube_part_read(task, file, &head, object, PART_OPEN, &to->open, error);
    if (r == 0)
        r = kube_part_read(task, file, &head, object, PART_SECRET, &to->secret, error);
    if (r == 0 && head.fields[HEAD_JOURNAL])
        r = kube_journal_read(task, file, head.fields[HEAD_JOURNAL], &file->segments, to, error);
    if (r == 0 || r == ERR_CORRUPT)
        file->seen = head;
    else
        kube_head_done(&head);
    return r;
}

static int documents_read(struct store_file *base, const struct store_call *call,
                          struct document *ret, struct error *error)
{
    struct document_file *file = (struct document_file *)base;
    const struct task task = task_of(file, call);
    _cleanup_free_ char *before = NULL;

    /* If a chunk is missing, another write may have removed it since the head was read: reads
     * again. */
    for (;;) {
        _cleanup_value_ const struct value *object = NULL;
        struct document document = DOCUMENT_INIT;
        struct error problem = {0};
        int r =
            kube_object_get(&task, &kube_config_maps, file->head_name, false, &object, &problem);

        if (r == 0)
            r = read_head(&task, file, object, &document, &problem);
        else if (r == ERR_NOT_FOUND)
            kube_document_forget(file);
        if (r == ERR_CORRUPT)
            file->is_damaged = true;
        if (r == 0) {
            document_done(ret);
            *ret = document;
            return 0;
        }
        document_done(&document);
        if (r != ERR_CORRUPT || str_equal(before, kube_version_of(object)))
            return err_copy(error, &problem);
        free(before);
        before = str_new(kube_version_of(object));
    }
}

/* ---- Writing ---- */

static int swap_head(const struct task *task, struct document_file *file, const struct head *head,
                     const struct buf *open, char **ret_version, struct error *error)
{
    const char *before = file->seen.version;
    _cleanup_value_ const struct value *body = NULL;
    char tag[TAG_SIZE];

    kube_draw_tag(tag);
    body = kube_head_body(file, head, open, tag, before);
    return kube_document_swap(task, file,
                              &(struct swap){before ? "PUT" : "POST", &kube_config_maps,
                                             file->head_name, body, before, tag, file->head_name},
                              ret_version, error);
}

/* In place of the head, or of none: one that says that there is no document. */
static int put_mark(const struct task *task, struct document_file *file, struct error *error)
{
    const struct buf nothing = BUF_INIT;
    struct head head;
    int r;

    kube_head_init(&head);
    kube_head_set(&head, HEAD_CHUNKED, "true");
    kube_head_set(&head, HEAD_REMOVED, "true");
    r = swap_head(task, file, &head, &nothing, &head.version, error);
    if (r < 0) {
        kube_head_done(&head);
        return r;
    }
    kube_document_forget(file);
    file->seen = head;
    return 0;
}

/* Before the first chunk of a document there is a head: whoever takes the chunk for garbage changes
 * that head first, and this write fails. */
static int reserve(const struct task *task, struct document_file *file,
                   const struct document *document, struct error *error)
{
    bool has_chunks = kube_part_has_chunks(PART_OPEN, &document->open) ||
                      kube_part_has_chunks(PART_SECRET, &document->secret);

    return file->seen.version || !has_chunks ? 0 : put_mark(task, file, error);
}

/* Adds the garbage that this write leaves: chunks of the head that was read, except those kept, and
 * its segments. */
static void add_seen(const struct document_file *file, const struct head *keep, struct garbage *to)
{
    kube_garbage_add_chunks(file, &file->seen, keep, to);
    for (size_t i = 0; i < file->segments.count; i++)
        kube_garbage_add(to, PART_SECRET, file->segments.names[i]);
}

/* Writes the chunks and then the head. Returns the new head, and the known garbage. */
static int write_parts(const struct task *task, struct document_file *file,
                       const struct document *document, struct head *head, struct garbage *garbage,
                       bool *ret_is_known, struct error *error)
{
    bool is_clean = kube_document_is_clean(file);
    int r = kube_part_write(task, file, PART_OPEN, &document->open, head, error);

    if (r == 0)
        r = kube_part_write(task, file, PART_SECRET, &document->secret, head, error);
    if (r == 0 && file->seen.fields[HEAD_CHUNKED] && !is_clean)
        kube_head_set(head, HEAD_CHUNKED, "true"); /* until the chunks are known to be deleted */
    if (r == 0 && head->fields[HEAD_CHUNKED] && !is_clean)
        *ret_is_known = kube_garbage_find(task, file, head, garbage, NULL) == 0;
    else if (r == 0)
        add_seen(file, head, garbage);
    if (r == 0 && file->seen.fields[HEAD_JOURNAL])
        r = kube_journal_close(task, file, error);
    if (r == 0)
        r = swap_head(task, file, head, &document->open, &head->version, error);
    return r;
}

/* A mark says that there is no document: a write left it that was killed after it had reserved the
 * head, or a removal. 1: what is written next replaces it. */
static int take_mark(const struct task *task, struct document_file *file, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    struct head head = {0};
    int r = kube_object_get(task, &kube_config_maps, file->head_name, false, &object, error);

    if (r < 0)
        return r == ERR_NOT_FOUND ? 0 : r;
    if (kube_head_parse(file, object, &head, NULL) < 0 || kube_head_exists(&head)) {
        kube_head_done(&head);
        return 0;
    }
    kube_document_forget(file);
    file->seen = head;
    return 1;
}

static int write_document(const struct task *task, struct document_file *file,
                          const struct document *document, struct error *error)
{
    _cleanup_(kube_garbage_done) struct garbage garbage = {0};
    struct head head;
    bool is_known = true,
         is_chunked = kube_document_is_clean(file) || file->seen.fields[HEAD_CHUNKED];
    int r = reserve(task, file, document, error);

    if (r < 0)
        return r;
    kube_head_init(&head);
    r = write_parts(task, file, document, &head, &garbage, &is_known, error);
    if (r < 0) {
        kube_head_done(&head);
        kube_document_set_clean(file, false); /* some chunks of this write may remain */
        return r;
    }
    kube_document_forget(file);
    file->seen = head;
    /* Best effort: the next write or removal tries again. */
    if (kube_garbage_remove(task, &garbage, NULL) < 0)
        is_known = false;
    kube_document_set_clean(file, is_known && (is_chunked || file->seen.fields[HEAD_CHUNKED]));
    return 0;
}

static int documents_write(struct store_file *base, const struct store_call *call,
                           const struct document *document, struct error *error)
{
    struct document_file *file = (struct document_file *)base;
    const struct task task = task_of(file, call);
    bool expects_none = !file->seen.version;
    struct error conflict = {0};
    int r = may_change(file, call, error);

    if (r < 0)
        return r;
    r = write_document(&task, file, document, &conflict);
    if (r != ERR_CONFLICT || !expects_none)
        return err_copy(error, &conflict);
    r = take_mark(&task, file, error);
    if (r <= 0)
        return r < 0 ? r : err_copy(error, &conflict);
    return write_document(&task, file, document, error);
}

/* Expects that there is no document; ERR_CONFLICT if there is one. */
static int expect_none(const struct task *task, const struct document_file *file,
                       struct error *error)
{
    struct error problem = {0};
    int r = kube_object_get(task, &kube_config_maps, file->head_name, true, NULL, &problem);

    if (r == 0)
        return kube_document_conflict(file, "there is one now", error);
    return r == ERR_NOT_FOUND ? 0 : err_copy(error, &problem);
}

static int documents_append(struct store_file *base, const struct store_call *call,
                            const void *bytes, size_t length, struct error *error)
{
    struct document_file *file = (struct document_file *)base;
    const struct task task = task_of(file, call);
    int r = may_change(file, call, error);

    if (r < 0)
        return r;
    if (!kube_head_exists(&file->seen)) {
        r = file->seen.version ? 0 : expect_none(&task, file, error);
        return r < 0 ? r : err_set(error, ERR_NOT_FOUND, NULL, "there is no document to append to");
    }
    if (file->is_damaged)
        return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT,
                       "the document is damaged: it can be rewritten, but not appended to");
    r = kube_journal_append(&task, file, bytes, length, error);
    if (r < 0)
        kube_document_set_clean(file, false);
    return r;
}

/* ---- Removing ---- */

/* The document has no head from one moment to the next: what is left of it is still found by a
 * list, after an error or a kill. */
static int mark_removed(const struct task *task, struct document_file *file, struct error *error)
{
    int r = 0;

    if (file->seen.fields[HEAD_JOURNAL])
        r = kube_journal_close(task, file, error);
    return r < 0 ? r : put_mark(task, file, error);
}

static int remove_head(const struct task *task, struct document_file *file, struct error *error)
{
    const char *version = file->seen.version;
    _cleanup_value_ const struct value *options =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "resourceVersion", version);

    return kube_document_swap(
        task, file,
        &(struct swap){"DELETE", &kube_config_maps, file->head_name, options, version, NULL, NULL},
        NULL, error);
}

/* The document is gone at once, by one change of its head. One that is marked already is marked
 * anew before anything is removed: that fails if another has written it meanwhile, or makes that
 * write fail. */
static int remove_parts(const struct task *task, struct document_file *file,
                        const struct garbage *garbage, struct error *error)
{
    int r = 0;

    if (!file->seen.version)
        r = expect_none(task, file, error);
    else if (!kube_garbage_is_empty(garbage))
        r = mark_removed(task, file, error);
    if (r == 0)
        r = kube_garbage_remove(task, garbage, error);
    return r == 0 && file->seen.version ? remove_head(task, file, error) : r;
}

/* A create that was not answered would bring the document back, or leave a chunk of it. */
static int expect_no_late_create(const struct document_file *file, struct error *error)
{
    const struct documents *store = (const struct documents *)file->base.store;

    if (!kube_document_has_late_create(file))
        return 0;
    return err_set(error, ERR_UNAVAILABLE, STORE_OUTCOME_UNKNOWN,
                   "a request to create it was not answered, and may still be carried out for %lld "
                   "s after it was sent: it is removed then",
                   (long long)(store->effect_time + 999) / 1000);
}

static int documents_remove(struct store_file *base, const struct store_call *call,
                            struct error *error)
{
    struct document_file *file = (struct document_file *)base;
    const struct task task = task_of(file, call);
    _cleanup_(kube_garbage_done) struct garbage garbage = {0};
    int r = may_change(file, call, error);

    if (r >= 0)
        r = expect_no_late_create(file, error);
    if (r < 0)
        return r;
    if (kube_document_is_clean(file))
        add_seen(file, NULL, &garbage);
    else
        r = kube_garbage_find(&task, file, NULL, &garbage, error);
    if (r == 0)
        r = remove_parts(&task, file, &garbage, error);
    kube_document_set_clean(file, false);
    if (r < 0)
        return r;
    kube_document_forget(file);
    kube_document_expect_nothing(file);
    return 0;
}

/* ---- The rest of the table ---- */

static int documents_open(struct store *base, const struct document_name *name,
                          enum store_mode mode, const struct store_call *call,
                          struct store_file **ret, struct error *error)
{
    struct document_file *file = kube_document_new((struct documents *)base, name);

    (void)call;
    (void)error;
    file->mode = mode;
    *ret = &file->base;
    return 0;
}

static void documents_close(struct store_file *file)
{
    kube_document_free((struct document_file *)file);
}

static char *documents_describe(struct store *base, const struct document_name *name)
{
    const struct documents *store = (const struct documents *)base;
    char head[KUBE_DOCUMENT_NAME_SIZE];

    kube_document_name(name, head);
    return str_printf("ConfigMap %s/%s", store->namespace_name, head);
}

static char *documents_removal(struct store *base, const struct document_name *name)
{
    const struct documents *store = (const struct documents *)base;
    char head[KUBE_DOCUMENT_NAME_SIZE];

    kube_document_name(name, head);
    return str_printf("kubectl delete configmaps,secrets -n %s -l %s=%s", store->namespace_name,
                      KUBE_DOCUMENT_LABEL, head);
}

static void documents_free(struct store *base)
{
    struct documents *store = (struct documents *)base;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&store->clean_heads, e));)
        kube_clean_head_free(e->value);
    strmap_done(&store->clean_heads);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&store->late, e));)
        kube_late_create_free(e->value);
    strmap_done(&store->late);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&store->orphans, e));)
        kube_orphan_free(e->value);
    strmap_done(&store->orphans);
    pthread_mutex_destroy(&store->lock);
    free(store->namespace_name);
    free(store);
}

static const struct store_ops ops = {
    .type = "configmap",
    .free = documents_free,
    .open = documents_open,
    .close = documents_close,
    .read = documents_read,
    .write = documents_write,
    .append = documents_append,
    .remove = documents_remove,
    .list = kube_documents_list,
    .tidy = kube_documents_tidy,
    .describe = documents_describe,
    .removal = documents_removal,
};

struct store *kube_documents_new(const struct kube_documents_config *config)
{
    struct documents *store = NEW(struct documents);

    store->base.ops = &ops;
    store->client = config->cluster.client;
    store->namespace_name = str_new(config->namespace_name);
    pthread_mutex_init(&store->lock, NULL);
    strmap_init(&store->clean_heads);
    strmap_init(&store->late);
    strmap_init(&store->orphans);
    store->orphan_age = config->orphan_age ? config->orphan_age : ORPHAN_AGE;
    store->effect_time = config->effect_time ? config->effect_time : EFFECT_TIME;
    return &store->base;
}
