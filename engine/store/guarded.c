#include "engine/store/guarded.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/store/store_error.h"

struct guarded {
    struct store base;
    struct store_ops ops; /* the other store's type; and of what it need not have, what it has */
    struct store *store;
    struct store_gate *gate;
    char *place;
};

struct guarded_file {
    struct store_file base;
    struct store_file *file;
};

static struct guarded *guarded_of(struct store *base)
{
    return (struct guarded *)base;
}

/* The other store's document. */
static struct store_file *inner(struct store_file *base)
{
    return ((struct guarded_file *)base)->file;
}

/* Gives r, and what to say of it. */
static int end(const struct guarded *guarded, int r, struct error *problem, struct error *error)
{
    if (r >= 0)
        return r;
    store_error_explain(problem, guarded->place);
    err_copy(error, problem);
    return r;
}

/* ---- The table ---- */

static void guarded_free(struct store *base)
{
    struct guarded *guarded = guarded_of(base);

    free(guarded->place);
    free(guarded);
}

static int guarded_open(struct store *base, const struct document_name *name, enum store_mode mode,
                        const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct guarded *guarded = guarded_of(base);
    struct store_file *file = NULL;
    struct guarded_file *result;
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->open(guarded->store, name, mode, call, &file, &problem);
    if (r < 0)
        return end(guarded, r, &problem, error);
    result = NEW(struct guarded_file);
    result->base.store = base;
    result->file = file;
    *ret = &result->base;
    return 0;
}

static void guarded_close(struct store_file *base)
{
    if (!base)
        return;
    inner(base)->store->ops->close(inner(base));
    free(base);
}

static int guarded_read(struct store_file *base, const struct store_call *call,
                        struct document *ret, struct error *error)
{
    struct guarded *guarded = guarded_of(base->store);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->read(inner(base), call, ret, &problem);
    return end(guarded, r, &problem, error);
}

static int guarded_write(struct store_file *base, const struct store_call *call,
                         const struct document *document, struct error *error)
{
    struct guarded *guarded = guarded_of(base->store);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->write(inner(base), call, document, &problem);
    return end(guarded, r, &problem, error);
}

static int guarded_append(struct store_file *base, const struct store_call *call, const void *bytes,
                          size_t length, struct error *error)
{
    struct guarded *guarded = guarded_of(base->store);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->append(inner(base), call, bytes, length, &problem);
    return end(guarded, r, &problem, error);
}

static int guarded_remove(struct store_file *base, const struct store_call *call,
                          struct error *error)
{
    struct guarded *guarded = guarded_of(base->store);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->remove(inner(base), call, &problem);
    return end(guarded, r, &problem, error);
}

static int guarded_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                        store_on_name *fn, void *arg, const struct store_call *call,
                        struct error *error)
{
    struct guarded *guarded = guarded_of(base);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->list(guarded->store, kind, spec, fn, arg, call, &problem);
    return end(guarded, r, &problem, error);
}

static int guarded_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct guarded *guarded = guarded_of(base);
    struct error problem = {0};
    int r = store_gate_ask(guarded->gate, &problem);

    if (r >= 0)
        r = guarded->store->ops->tidy(guarded->store, call, &problem);
    return end(guarded, r, &problem, error);
}

static char *guarded_describe(struct store *base, const struct document_name *name)
{
    struct store *store = guarded_of(base)->store;

    return store->ops->describe(store, name);
}

static char *guarded_removal(struct store *base, const struct document_name *name)
{
    struct store *store = guarded_of(base)->store;

    return store->ops->removal(store, name);
}

struct store *store_guarded_new(struct store *store, struct store_gate *gate, const char *place)
{
    struct guarded *guarded = NEW(struct guarded);

    guarded->ops = (struct store_ops){
        .type = store->ops->type,
        .free = guarded_free,
        .open = guarded_open,
        .close = guarded_close,
        .read = guarded_read,
        .write = guarded_write,
        .append = store->ops->append ? guarded_append : NULL,
        .remove = guarded_remove,
        .list = guarded_list,
        .tidy = store->ops->tidy ? guarded_tidy : NULL,
        .describe = guarded_describe,
        .removal = store->ops->removal ? guarded_removal : NULL,
    };
    guarded->base.ops = &guarded->ops;
    guarded->store = store;
    guarded->gate = gate;
    guarded->place = str_new(place);
    return &guarded->base;
}
