#include "runtimes/chain/store.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"

struct chain_file {
    struct store_file base;
    struct own_name name;
    char *prefix;
    enum store_mode mode;
    bool has_seen; /* it was read, or changed */
    struct chain_seen seen;
};

static struct chain_store *store_of(const struct chain_file *file)
{
    return (struct chain_store *)file->base.store;
}

static int not_found(const struct chain_file *file, struct error *error)
{
    const struct document_name *name = &file->name.name;

    return err_set(error, ERR_NOT_FOUND, NULL, "there is no %s of %s/%s",
                   document_kind_name(name->kind), name->spec.namespace_name, name->spec.name);
}

/* ---- Reading ---- */

static int take_sections(struct chain_file *file, const struct buf *bytes,
                         const struct object_head *head, struct document *ret, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_free_ char *key = NULL, *what = NULL;
    const char *damaged = object_sections(bytes, head, &document);

    if (!damaged) {
        document_done(ret);
        *ret = document;
        return 0;
    }
    document_done(&document);
    file->seen.is_damaged = true;
    key = chain_key(file->prefix, file->seen.number);
    what = str_printf("%s is damaged: it does not match its checksum", damaged);
    return chain_damaged(store_of(file), key, what, error);
}

static int file_read(struct store_file *base, const struct store_call *given, struct document *ret,
                     struct error *error)
{
    struct chain_file *file = (struct chain_file *)base;
    struct chain_store *store = store_of(file);
    struct store_call call = chain_call(store, given);
    _cleanup_(object_head_done) struct object_head head = {0};
    struct chain_seen seen = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    int r = store_check_cancel(&call, error);

    if (r < 0)
        return r;
    r = chain_read_newest(store, &file->name.name, file->prefix, &call, &seen, &bytes, &head,
                          error);
    if (r == 0 || r == ERR_CORRUPT) {
        file->has_seen = true;
        file->seen = seen;
    }
    if (r == 0 && (!seen.number || seen.is_removed))
        r = not_found(file, error);
    else if (r == 0)
        r = take_sections(file, &bytes, &head, ret, error);
    return r;
}

/* ---- Changing ---- */

static int conflict(const struct chain_file *file, struct error *error)
{
    const struct document_name *name = &file->name.name;

    return err_set(error, ERR_CONFLICT, STORE_CONFLICT,
                   "%s of %s/%s is there already, and was not read before it was to be changed",
                   document_kind_name(name->kind), name->spec.namespace_name, name->spec.name);
}

/* A handle that has seen nothing expects that there is no document; it may have been removed. */
static int look_first(struct chain_file *file, const struct store_call *call, struct error *error)
{
    struct chain_store *store = store_of(file);
    struct object_head head = {0};
    struct chain_seen seen = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    int r =
        chain_read_newest(store, &file->name.name, file->prefix, call, &seen, &bytes, &head, error);

    object_head_done(&head);
    if (r < 0)
        return r == ERR_CORRUPT ? conflict(file, error) : r;
    if (seen.number && !seen.is_removed)
        return conflict(file, error);
    file->has_seen = true;
    file->seen = seen;
    return 0;
}

static int begin_change(struct chain_file *file, const struct store_call *call, struct error *error)
{
    int r = store_check_change(file->mode, call, error);

    if (r == 0)
        r = permit_ask(call->permit, call->use, error);
    if (r == 0)
        r = chain_prove(store_of(file), call, error);
    if (r == 0 && !file->has_seen)
        r = look_first(file, call, error);
    return r;
}

static int file_write(struct store_file *base, const struct store_call *given,
                      const struct document *document, struct error *error)
{
    struct chain_file *file = (struct chain_file *)base;
    struct chain_store *store = store_of(file);
    struct store_call call = chain_call(store, given);
    _cleanup_(chain_list_done) struct chain_list list = {0};
    int r = begin_change(file, &call, error);

    if (r == 0)
        r = chain_extend(store, &file->name.name, file->prefix, &file->seen, document, &call, &list,
                         error);
    if (r == 0)
        chain_purge(store, file->prefix, &list, chain_lowest_kept(&list), &call);
    return r;
}

/* Where there is no chain, nothing can come back: whoever begins one creates its tombstone first.
 */
static int file_remove(struct store_file *base, const struct store_call *given, struct error *error)
{
    struct chain_file *file = (struct chain_file *)base;
    struct chain_store *store = store_of(file);
    struct store_call call = chain_call(store, given);
    _cleanup_(chain_list_done) struct chain_list list = {0};
    int r = begin_change(file, &call, error);

    if (r < 0)
        return r;
    if (chain_is_at_end(&file->seen)) {
        r = chain_list_read(store, file->prefix, &call, &list, error);
        if (r == 0 && list.count && list.numbers[list.count - 1] > file->seen.number)
            return conflict(file, error);
        if (r == 0)
            chain_purge(store, file->prefix, &list, file->seen.number, &call);
        return r;
    }
    r = chain_extend(store, &file->name.name, file->prefix, &file->seen, NULL, &call, &list, error);
    if (r == 0)
        chain_purge(store, file->prefix, &list, file->seen.number, &call);
    return r;
}

/* ---- The rest of the table ---- */

static int store_open(struct store *base, const struct document_name *name, enum store_mode mode,
                      const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct chain_file *file = NEW(struct chain_file);

    (void)call, (void)error;
    file->base.store = base;
    own_name_copy(&file->name, name);
    file->prefix = chain_prefix(name);
    file->mode = mode;
    *ret = &file->base;
    return 0;
}

static void store_close(struct store_file *base)
{
    struct chain_file *file = (struct chain_file *)base;

    if (!file)
        return;
    own_name_done(&file->name);
    free(file->prefix);
    free(file);
}

static void store_free(struct store *base)
{
    struct chain_store *store = (struct chain_store *)base;

    store->objects->ops->free(store->objects);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static char *store_describe(struct store *base, const struct document_name *name)
{
    struct chain_store *store = (struct chain_store *)base;
    _cleanup_free_ char *prefix = chain_prefix(name);

    return store->objects->ops->describe(store->objects, prefix);
}

/* The type is that of the objects. */
static const struct store_ops ops = {
    .free = store_free,
    .open = store_open,
    .close = store_close,
    .read = file_read,
    .write = file_write,
    .remove = file_remove,
    .list = chain_documents,
    .tidy = chain_tidy,
    .describe = store_describe,
};

struct store *chain_store_new(struct objects *objects, const struct clock_source *clock,
                              bool is_unproved)
{
    struct chain_store *store = NEW(struct chain_store);

    store->ops = ops;
    store->ops.type = objects->ops->type;
    store->base.ops = &store->ops;
    store->objects = objects;
    store->clock = clock;
    pthread_mutex_init(&store->lock, NULL);
    atomic_init(&store->is_proved, !is_unproved);
    return &store->base;
}
