#include "engine/trace/store_trace.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/store/names.h"

struct traced {
    struct store base;
    struct store_ops ops; /* the traced store's type, and append only if it has it */
    struct store *store;
    const struct clock_source *clock;
};

struct traced_file {
    struct store_file base;
    struct store_file *file;
    char *document; /* "state team/web", "plan team/web web-3" */
};

/* ---- A line ---- */

struct span {
    const struct traced *traced;
    const char *call, *document;
    int64_t begun;
};

static struct span begin(const struct store *store, const char *call, const char *document)
{
    const struct traced *traced = (const struct traced *)store;

    return (struct span){traced, call, document, traced->clock->monotonic(traced->clock)};
}

static struct span begin_file(const struct store_file *base, const char *call)
{
    return begin(base->store, call, ((const struct traced_file *)base)->document);
}

/* Logs the call, and returns r. */
static int end(const struct span *span, size_t bytes, int r)
{
    int64_t took = span->traced->clock->monotonic(span->traced->clock) - span->begun;
    _cleanup_free_ char *bytes_text = bytes ? str_printf("%zu", bytes) : NULL;
    _cleanup_free_ char *took_text = str_printf("%lld", (long long)took);

    log_debug("store", "store", span->traced->store->ops->type, "call", span->call, "document",
              span->document, "bytes", bytes_text, "durationMs", took_text, "outcome",
              r < 0 ? err_reason(r) : "ok", NULL);
    return r;
}

static size_t size_of(const struct document *document)
{
    size_t size = document->open.length + document->secret.length;

    for (size_t i = 0; i < document->n_entries; i++)
        size += document->entries[i].length;
    return size;
}

/* ---- The table ---- */

static void traced_free(struct store *base)
{
    struct traced *traced = (struct traced *)base;

    traced->store->ops->free(traced->store);
    free(traced);
}

static int traced_open(struct store *base, const struct document_name *name, enum store_mode mode,
                       const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct store *store = ((struct traced *)base)->store;
    _cleanup_free_ char *document = name_text(name);
    struct span span =
        begin(base, mode == STORE_WRITE ? "open to write" : "open to read", document);
    struct store_file *file = NULL;
    struct traced_file *traced;
    int r = end(&span, 0, store->ops->open(store, name, mode, call, &file, error));

    if (r < 0)
        return r;
    traced = NEW(struct traced_file);
    traced->base.store = base;
    traced->file = file;
    traced->document = TAKE(document);
    *ret = &traced->base;
    return 0;
}

static void traced_close(struct store_file *base)
{
    struct traced_file *file = (struct traced_file *)base;

    if (!file)
        return;
    file->file->store->ops->close(file->file);
    free(file->document);
    free(file);
}

static int traced_read(struct store_file *base, const struct store_call *call, struct document *ret,
                       struct error *error)
{
    struct store_file *file = ((struct traced_file *)base)->file;
    struct span span = begin_file(base, "read");
    int r = file->store->ops->read(file, call, ret, error);

    return end(&span, r < 0 ? 0 : size_of(ret), r);
}

static int traced_write(struct store_file *base, const struct store_call *call,
                        const struct document *document, struct error *error)
{
    struct store_file *file = ((struct traced_file *)base)->file;
    struct span span = begin_file(base, "write");
    size_t bytes = document->open.length + document->secret.length;

    return end(&span, bytes, file->store->ops->write(file, call, document, error));
}

static int traced_append(struct store_file *base, const struct store_call *call, const void *bytes,
                         size_t length, struct error *error)
{
    struct store_file *file = ((struct traced_file *)base)->file;
    struct span span = begin_file(base, "append");

    return end(&span, length, file->store->ops->append(file, call, bytes, length, error));
}

static int traced_remove(struct store_file *base, const struct store_call *call,
                         struct error *error)
{
    struct store_file *file = ((struct traced_file *)base)->file;
    struct span span = begin_file(base, "remove");

    return end(&span, 0, file->store->ops->remove(file, call, error));
}

static int traced_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                       store_on_name *fn, void *arg, const struct store_call *call,
                       struct error *error)
{
    struct store *store = ((struct traced *)base)->store;
    _cleanup_free_ char *document =
        spec ? str_printf("%s %s/%s", document_kind_name(kind), spec->namespace_name, spec->name)
             : str_new(document_kind_name(kind));
    struct span span = begin(base, "list", document);

    return end(&span, 0, store->ops->list(store, kind, spec, fn, arg, call, error));
}

static int traced_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct store *store = ((struct traced *)base)->store;
    struct span span = begin(base, "tidy", NULL);

    return end(&span, 0, store->ops->tidy(store, call, error));
}

static char *traced_describe(struct store *base, const struct document_name *name)
{
    struct store *store = ((struct traced *)base)->store;

    return store->ops->describe(store, name);
}

static char *traced_removal(struct store *base, const struct document_name *name)
{
    struct store *store = ((struct traced *)base)->store;

    return store->ops->removal(store, name);
}

struct store *store_trace_new(struct store *store, const struct clock_source *clock)
{
    struct traced *traced = NEW(struct traced);

    traced->ops = (struct store_ops){
        .type = store->ops->type,
        .free = traced_free,
        .open = traced_open,
        .close = traced_close,
        .read = traced_read,
        .write = traced_write,
        .append = store->ops->append ? traced_append : NULL,
        .remove = traced_remove,
        .list = traced_list,
        .tidy = store->ops->tidy ? traced_tidy : NULL,
        .describe = traced_describe,
        .removal = store->ops->removal ? traced_removal : NULL,
    };
    traced->base.ops = &traced->ops;
    traced->store = store;
    traced->clock = clock;
    return &traced->base;
}
