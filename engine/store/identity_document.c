#include "engine/store/identity_document.h"

/* None there, or a damaged one, is no error. */
static int parse_read(int r, const struct document *document, struct store_identity *ret)
{
    if (r >= 0)
        store_identity_parse(&document->open, ret);
    if (r == ERR_CORRUPT)
        ret->is_damaged = true;
    return r == ERR_NOT_FOUND || r == ERR_CORRUPT ? 0 : r;
}

int store_identity_open(struct store *store, const struct store_call *call,
                        struct store_file **ret_file, struct store_identity *ret,
                        struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r = store->ops->open(store, &store_identity_name, ret_file ? STORE_WRITE : STORE_READ, call,
                             &file, &problem);

    *ret = (struct store_identity){0};
    if (r >= 0)
        r = parse_read(store->ops->read(file, call, &document, &problem), &document, ret);
    document_done(&document);
    if (r >= 0 && ret_file)
        *ret_file = TAKE(file);
    store->ops->close(file);
    return r < 0 ? err_copy(error, &problem) : 0;
}

int store_identity_put(struct store_file *file, const struct store_call *call,
                       const struct store_identity *identity, struct error *error)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    int r;

    store_identity_write(identity, &document.open);
    r = file->store->ops->write(file, call, &document, error);
    return r;
}
