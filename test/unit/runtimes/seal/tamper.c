#include "test/unit/runtimes/seal/tamper.h"

#include <string.h>

#include "engine/base/mem.h"
#include "test/unit/suite.h"

static const struct store_call plain;

void tamper_take(struct store *store, const struct document_name *name, struct document *ret)
{
    struct error error = {0};

    if (store_load(store, name, &plain, ret, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
}

/* A handle that has seen what is there. */
static struct store_file *open_seen(struct store *store, const struct document_name *name)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    if (store->ops->open(store, name, STORE_WRITE, &plain, &file, NULL) < 0)
        abort();
    store->ops->read(file, &plain, &document, NULL);
    document_done(&document);
    return file;
}

static int put(struct store_file *file, const struct document *document, struct error *error)
{
    const struct store_ops *ops = file->store->ops;
    int r = ops->write(file, &plain, document, error);

    for (size_t i = 0; i < document->n_entries && r >= 0; i++)
        r = ops->append(file, &plain, document->entries[i].data, document->entries[i].length,
                        error);
    return r;
}

void tamper_put(struct store *store, const struct document_name *name,
                const struct document *document)
{
    struct store_file *file = open_seen(store, name);
    struct error error = {0};

    EXPECT_INT(put(file, document, &error), 0, error.message);
    store->ops->close(file);
}

static void add_entry(struct document *to, const void *bytes, size_t length)
{
    to->entries = mem_resize(to->entries, to->n_entries + 1, sizeof(struct buf));
    buf_init(&to->entries[to->n_entries], 0);
    buf_add(&to->entries[to->n_entries++], bytes, length);
}

void tamper_copy(const struct document *from, struct document *ret)
{
    document_done(ret);
    buf_add(&ret->open, from->open.data, from->open.length);
    buf_add(&ret->secret, from->secret.data, from->secret.length);
    for (size_t i = 0; i < from->n_entries; i++)
        add_entry(ret, from->entries[i].data, from->entries[i].length);
}

int tamper_write(struct store *store, const struct document_name *name, const char *open,
                 const char *secret, const char *const *entries, struct error *error)
{
    struct store_file *file = open_seen(store, name);
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, open);
    buf_add_str(&document.secret, secret);
    for (; entries && *entries; entries++)
        add_entry(&document, *entries, strlen(*entries));
    r = put(file, &document, error);
    document_done(&document);
    store->ops->close(file);
    return r;
}

int tamper_read(struct store *store, const struct document_name *name, struct document *ret,
                struct error *error)
{
    if (error)
        err_clear(error);
    return store_load(store, name, &plain, ret, error);
}
