/* The store around a store: seal.h. */
#include <string.h>

#include "engine/base/mem.h"
#include "runtimes/seal/private.h"

static void sealed_free(struct store *base)
{
    struct sealed_store *store = (struct sealed_store *)base;

    store->inner->ops->free(store->inner);
    seal_keys_free(store->keys);
    free(store);
}

/* ---- Handles ---- */

static int sealed_open(struct store *base, const struct document_name *name, enum store_mode mode,
                       const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct store *inner = ((struct sealed_store *)base)->inner;
    struct store_file *opened = NULL;
    struct sealed_file *file;
    int r = inner->ops->open(inner, name, mode, call, &opened, error);

    if (r < 0)
        return r;
    file = NEW(struct sealed_file);
    file->base.store = base;
    file->file = opened;
    own_name_copy(&file->name, name);
    *ret = &file->base;
    return 0;
}

static void sealed_close(struct store_file *base)
{
    struct sealed_file *file = (struct sealed_file *)base;

    if (!file)
        return;
    file->file->store->ops->close(file->file);
    own_name_done(&file->name);
    free(file->locked);
    free(file);
}

static void set_seen(struct sealed_file *file, enum sealed_seen seen)
{
    free(TAKE(file->locked));
    file->seen = seen;
    file->n_appended = 0;
    memset(file->write, 0, sizeof(file->write));
}

/* After a change that failed. Other codes say that nothing was changed. */
static int note_failure(struct sealed_file *file, int r)
{
    if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT || r == ERR_INTERNAL)
        set_seen(file, SEEN_IN_DOUBT);
    return r;
}

/* Nobody has seen what a change would replace. */
static int check_unlocked(const struct sealed_file *file, struct error *error)
{
    return file->seen == SEEN_LOCKED ? err_copy(error, file->locked) : 0;
}

/* ---- Reading ---- */

static int read_stored(struct sealed_file *file, const struct store_call *call,
                       struct document *ret, struct error *error)
{
    int r = file->file->store->ops->read(file->file, call, ret, error);

    if (r == ERR_NOT_FOUND)
        set_seen(file, SEEN_NONE);
    else if (r == ERR_CORRUPT)
        set_seen(file, SEEN_DAMAGED);
    return r;
}

static int sealed_read(struct store_file *base, const struct store_call *call, struct document *ret,
                       struct error *error)
{
    struct sealed_file *file = (struct sealed_file *)base;
    struct document stored = DOCUMENT_INIT, found = DOCUMENT_INIT;
    struct opened opened;
    struct error failure = {0};
    uint64_t n_appended;
    int r = read_stored(file, call, &stored, error);

    if (r < 0)
        return r;
    n_appended = stored.n_entries;
    r = seal_open_document((struct sealed_store *)base->store, &file->name.name, call, &stored,
                           &found, &opened, &failure);
    document_done(&stored);
    if (r < 0) {
        set_seen(file, r == ERR_CORRUPT ? SEEN_DAMAGED : SEEN_LOCKED);
        err_copy(error, &failure);
        if (r == ERR_CANCELLED)
            err_set(&failure, ERR_UNAVAILABLE, SEAL_UNAVAILABLE, "its read was cancelled");
        if (r != ERR_CORRUPT)
            file->locked = err_new(&failure);
        return r;
    }
    set_seen(file, opened.is_sealed ? SEEN_SEALED : SEEN_UNSEALED);
    memcpy(file->write, opened.write, sizeof(file->write));
    file->n_appended = n_appended;
    document_done(ret);
    *ret = found;
    return 0;
}

/* ---- Changes ---- */

int sealed_write_carrying(struct sealed_file *file, const struct store_call *call,
                          const struct document *document, const struct buf *carried,
                          size_t n_carried, struct error *error)
{
    const struct sealed_store *store = (const struct sealed_store *)file->base.store;
    struct sealed sealed = SEALED_INIT;
    int r = check_unlocked(file, error);

    if (r < 0)
        return r;
    r = seal_document(store, &file->name.name, call, document, carried, n_carried, &sealed, error);
    if (r >= 0) {
        const struct document written = {.open = store->scope == SEAL_ALL ? sealed.open
                                                                          : document->open,
                                         .secret = sealed.secret};

        r = note_failure(file, store->inner->ops->write(file->file, call, &written, error));
    }
    if (r >= 0) {
        set_seen(file, SEEN_SEALED);
        memcpy(file->write, sealed.write, sizeof(file->write));
    }
    buf_done(&sealed.open);
    buf_done(&sealed.secret);
    return r;
}

/* With SEAL_NONE. */
static int write_unsealed(struct sealed_file *file, const struct store_call *call,
                          const struct document *document, struct error *error)
{
    int r = check_unlocked(file, error);

    if (r >= 0)
        r = note_failure(file, file->file->store->ops->write(file->file, call, document, error));
    if (r >= 0)
        set_seen(file, SEEN_UNSEALED);
    return r;
}

static int sealed_write(struct store_file *base, const struct store_call *call,
                        const struct document *document, struct error *error)
{
    struct sealed_file *file = (struct sealed_file *)base;

    if (((struct sealed_store *)base->store)->scope == SEAL_NONE)
        return write_unsealed(file, call, document, error);
    return sealed_write_carrying(file, call, document, NULL, 0, error);
}

/* Whether an entry may be appended to what was seen. Entries are sealed if their document is; where
 * that would change, the caller writes the whole document anew. */
static int check_append(const struct sealed_file *file, bool seals, struct error *error)
{
    switch (file->seen) {
    case SEEN_LOCKED:
        return err_copy(error, file->locked);
    case SEEN_DAMAGED:
        return err_set(error, ERR_CORRUPT, "StateCorrupt",
                       "the document is damaged: it can be rewritten, but not appended to");
    case SEEN_IN_DOUBT:
        return err_set(error, ERR_CONFLICT, NULL,
                       "an earlier change was not answered: read the document first");
    case SEEN_SEALED:
    case SEEN_UNSEALED:
        if (seals == (file->seen == SEEN_SEALED))
            return 0;
        return err_set(error, ERR_TOO_LARGE, NULL,
                       "the next write changes whether the document is sealed");
    case SEEN_NONE: /* the inner store refuses it */
        break;
    }
    return 0;
}

static int sealed_append(struct store_file *base, const struct store_call *call, const void *bytes,
                         size_t length, struct error *error)
{
    struct sealed_file *file = (struct sealed_file *)base;
    const struct sealed_store *store = (const struct sealed_store *)base->store;
    const struct store_ops *inner = store->inner->ops;
    _cleanup_buf_ struct buf entry = BUF_INIT;
    bool seals = store->scope != SEAL_NONE;
    int r = check_append(file, seals, error);

    if (r < 0)
        return r;
    if (!seals)
        return note_failure(file, inner->append(file->file, call, bytes, length, error));
    r = seal_entry(store, &file->name.name, call, file->write, file->n_appended, bytes, length,
                   &entry, error);
    if (r < 0)
        return r;
    r = note_failure(file, inner->append(file->file, call, entry.data, entry.length, error));
    if (r >= 0)
        file->n_appended++;
    return r;
}

static int sealed_remove(struct store_file *base, const struct store_call *call,
                         struct error *error)
{
    struct sealed_file *file = (struct sealed_file *)base;
    int r = check_unlocked(file, error);

    if (r >= 0)
        r = note_failure(file, file->file->store->ops->remove(file->file, call, error));
    if (r >= 0)
        set_seen(file, SEEN_NONE);
    return r;
}

/* ---- What is passed on ---- */

static int sealed_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                       store_on_name *fn, void *arg, const struct store_call *call,
                       struct error *error)
{
    struct store *inner = ((struct sealed_store *)base)->inner;

    return inner->ops->list(inner, kind, spec, fn, arg, call, error);
}

static int sealed_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct store *inner = ((struct sealed_store *)base)->inner;

    return inner->ops->tidy(inner, call, error);
}

static char *sealed_describe(struct store *base, const struct document_name *name)
{
    struct store *inner = ((struct sealed_store *)base)->inner;

    return inner->ops->describe(inner, name);
}

static char *sealed_removal(struct store *base, const struct document_name *name)
{
    struct store *inner = ((struct sealed_store *)base)->inner;

    return inner->ops->removal(inner, name);
}

struct store *seal_store_new(struct store *inner, struct seal_keys *keys, enum seal_scope scope)
{
    struct sealed_store *store = NEW(struct sealed_store);

    store->ops = (struct store_ops){
        .type = inner->ops->type,
        .free = sealed_free,
        .open = sealed_open,
        .close = sealed_close,
        .read = sealed_read,
        .write = sealed_write,
        .append = inner->ops->append ? sealed_append : NULL,
        .remove = sealed_remove,
        .list = sealed_list,
        .tidy = inner->ops->tidy ? sealed_tidy : NULL,
        .describe = sealed_describe,
        .removal = inner->ops->removal ? sealed_removal : NULL,
    };
    store->base.ops = &store->ops;
    store->inner = inner;
    store->keys = keys;
    store->scope = scope;
    return &store->base;
}
