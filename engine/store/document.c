/* Functions that all stores share: engine/store.h. */
#include "engine/store.h"

#include <stdlib.h>

static const char *const kinds[DOCUMENT_KINDS] = {
    [DOCUMENT_STATE] = "state", [DOCUMENT_OUTCOME] = "outcome",
    [DOCUMENT_PLAN] = "plan",   [DOCUMENT_APPROVAL] = "approval",
    [DOCUMENT_SPEC] = "spec",   [DOCUMENT_RELEASE] = "release",
    [DOCUMENT_STORE] = "store",
};

const char *document_kind_name(enum document_kind kind)
{
    return kinds[kind];
}

void document_done(struct document *document)
{
    buf_done(&document->open);
    buf_done(&document->secret);
    for (size_t i = 0; i < document->n_entries; i++)
        buf_done(&document->entries[i]);
    free(document->entries);
    document->entries = NULL;
    document->n_entries = 0;
}

int store_load(struct store *store, const struct document_name *name, const struct store_call *call,
               struct document *ret, struct error *error)
{
    struct store_file *file = NULL;
    int r = store->ops->open(store, name, STORE_READ, call, &file, error);

    if (r >= 0)
        r = store->ops->read(file, call, ret, error);
    store->ops->close(file);
    return r;
}

int store_replace(struct store_file *file, const struct store_call *call,
                  const struct document *document, struct error *error)
{
    const struct store_ops *ops = file->store->ops;
    struct document before = DOCUMENT_INIT;
    struct error problem = {0};
    int r = ops->write(file, call, document, &problem);

    if (r != ERR_CONFLICT)
        return err_copy(error, &problem);
    err_clear(&problem);
    r = ops->read(file, call, &before, &problem);
    document_done(&before);
    if (r < 0 && r != ERR_NOT_FOUND && r != ERR_CORRUPT)
        return err_copy(error, &problem);
    return ops->write(file, call, document, error);
}

#define DROP_ATTEMPTS 3 /* while others drop it, too, or write it */

/* What is removed has been seen before: that is the contract of remove(). */
static int drop_once(struct store *store, const struct document_name *name,
                     const struct store_call *call, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r = store->ops->open(store, name, STORE_WRITE, call, &file, &problem);

    if (r >= 0)
        r = store->ops->read(file, call, &document, &problem);
    document_done(&document);
    if (file && (r >= 0 || r == ERR_NOT_FOUND || r == ERR_CORRUPT)) {
        err_clear(&problem);
        r = store->ops->remove(file, call, &problem);
    }
    store->ops->close(file);
    return r < 0 ? err_copy(error, &problem) : 0;
}

int store_drop(struct store *store, const struct document_name *name, const struct store_call *call,
               struct error *error)
{
    struct error problem = {0};
    int r = ERR_CONFLICT;

    for (unsigned n = 0; r == ERR_CONFLICT && n < DROP_ATTEMPTS; n++)
        r = drop_once(store, name, call, &problem);
    return r < 0 ? err_copy(error, &problem) : 0;
}
