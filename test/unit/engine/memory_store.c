#include "test/unit/engine/memory_store.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

struct kept {
    char *key, *namespace_name, *spec_name, *item;
    struct document_name name; /* of the strings above */
    bool exists;
    uint64_t version; /* of this document, 0 never */
    struct document document;
    char *damaged;             /* the part's name, or NULL */
    const struct store *owner; /* that has it open to write, where there are locks */
};

struct memory_medium {
    pthread_mutex_t lock;
    struct memory_medium_config config;
    struct strmap documents; /* key to struct kept; stay until the end */
    uint64_t last_version;
    size_t counts[MEMORY_CALLS];
};

struct memory_store {
    struct store base;
    struct memory_medium *medium;
};

struct memory_file {
    struct store_file base;
    struct kept *kept;
    enum store_mode mode;
    uint64_t version; /* as this handle saw it; 0: no document */
};

/* ---- The medium ---- */

struct memory_medium *memory_medium_new(const struct memory_medium_config *config)
{
    struct memory_medium *medium = NEW(struct memory_medium);

    pthread_mutex_init(&medium->lock, NULL);
    if (config)
        medium->config = *config;
    strmap_init(&medium->documents);
    return medium;
}

static void kept_free(struct kept *kept)
{
    document_done(&kept->document);
    free(kept->key);
    free(kept->namespace_name);
    free(kept->spec_name);
    free(kept->item);
    free(kept->damaged);
    free(kept);
}

void memory_medium_free(struct memory_medium *medium)
{
    if (!medium)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&medium->documents, e));)
        kept_free(e->value);
    strmap_done(&medium->documents);
    pthread_mutex_destroy(&medium->lock);
    free(medium);
}

/* Lock held. The document of that name, which may not exist. */
static struct kept *find(struct memory_medium *medium, const struct document_name *name)
{
    _cleanup_free_ char *key =
        str_printf("%d\n%s\n%s\n%s", (int)name->kind, name->spec.namespace_name, name->spec.name,
                   name->item ? name->item : "");
    struct kept *kept = strmap_get(&medium->documents, key);

    if (kept)
        return kept;
    kept = NEW(struct kept);
    kept->key = TAKE(key);
    kept->namespace_name = str_new(name->spec.namespace_name);
    kept->spec_name = str_new(name->spec.name);
    kept->item = str_new(name->item);
    kept->name =
        (struct document_name){name->kind, {kept->namespace_name, kept->spec_name}, kept->item};
    kept->document = (struct document)DOCUMENT_INIT;
    strmap_put(&medium->documents, kept->key, kept);
    return kept;
}

void memory_damage(struct memory_medium *medium, const struct document_name *name, const char *part)
{
    struct kept *kept;

    pthread_mutex_lock(&medium->lock);
    kept = find(medium, name);
    free(kept->damaged);
    kept->damaged = str_new(part);
    pthread_mutex_unlock(&medium->lock);
}

void memory_break_lock(struct memory_medium *medium, const struct document_name *name)
{
    pthread_mutex_lock(&medium->lock);
    find(medium, name)->owner = NULL;
    pthread_mutex_unlock(&medium->lock);
}

size_t memory_count(struct memory_medium *medium, enum memory_call call)
{
    size_t count;

    pthread_mutex_lock(&medium->lock);
    count = medium->counts[call];
    pthread_mutex_unlock(&medium->lock);
    return count;
}

size_t memory_documents(struct memory_medium *medium)
{
    size_t count = 0;

    pthread_mutex_lock(&medium->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&medium->documents, e));)
        count += ((struct kept *)e->value)->exists;
    pthread_mutex_unlock(&medium->lock);
    return count;
}

/* ---- A call ---- */

static struct memory_medium *medium_of(const struct memory_file *file)
{
    return ((struct memory_store *)file->base.store)->medium;
}

static int may_change(const struct memory_file *file, const struct store_call *call,
                      struct error *error)
{
    if (file->mode != STORE_WRITE)
        return err_set(error, ERR_INVALID, NULL, "the document is open for reading only");
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, NULL, "%s", cancel_reason(call->cancel));
    return permit_ask(call->permit, call->use, error);
}

static int conflict(struct error *error)
{
    return err_set(error, ERR_CONFLICT, "StateConflict", "the document was changed meanwhile");
}

struct change {
    enum memory_call call;
    const struct document *document; /* of a write */
    const void *bytes;               /* of an append */
    size_t length;
};

static void replace(struct kept *kept, const struct document *by)
{
    document_done(&kept->document);
    free(TAKE(kept->damaged));
    buf_add(&kept->document.open, by->open.data, by->open.length);
    buf_add(&kept->document.secret, by->secret.data, by->secret.length);
}

static void add_entry(struct document *document, const void *bytes, size_t length)
{
    document->entries = mem_resize(document->entries, document->n_entries + 1, sizeof(struct buf));
    buf_init(&document->entries[document->n_entries], 0);
    buf_add(&document->entries[document->n_entries++], bytes, length);
}

/* Lock held. */
static int make(struct memory_file *file, const struct change *change, struct error *error)
{
    struct memory_medium *medium = medium_of(file);
    struct kept *kept = file->kept;

    if (file->version != (kept->exists ? kept->version : 0))
        return conflict(error);
    if (change->call == MEMORY_APPEND && !kept->exists)
        return err_set(error, ERR_NOT_FOUND, NULL, "there is no document to append to");
    if (change->call == MEMORY_APPEND && kept->damaged)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "the %s is damaged", kept->damaged);
    if (change->call == MEMORY_APPEND && medium->config.max_entries &&
        kept->document.n_entries >= medium->config.max_entries)
        return err_set(error, ERR_TOO_LARGE, NULL, "there is no room for another entry");
    medium->counts[change->call]++;
    if (change->call == MEMORY_REMOVE && !kept->exists)
        return 0;
    kept->exists = change->call != MEMORY_REMOVE;
    kept->version = ++medium->last_version;
    if (change->call == MEMORY_APPEND)
        add_entry(&kept->document, change->bytes, change->length);
    else
        replace(kept,
                change->call == MEMORY_WRITE ? change->document : &(struct document)DOCUMENT_INIT);
    return 0;
}

static int run(struct store_file *base, const struct store_call *call, const struct change *change,
               struct error *error)
{
    struct memory_file *file = (struct memory_file *)base;
    struct memory_medium *medium = medium_of(file);
    int r = may_change(file, call, error);

    if (r < 0)
        return r;
    pthread_mutex_lock(&medium->lock);
    r = make(file, change, error);
    if (r == 0)
        file->version = file->kept->exists ? file->kept->version : 0;
    pthread_mutex_unlock(&medium->lock);
    return r;
}

/* ---- The table ---- */

static void memory_free(struct store *store)
{
    free(store);
}

static int memory_open(struct store *base, const struct document_name *name, enum store_mode mode,
                       const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct memory_store *store = (struct memory_store *)base;
    struct memory_medium *medium = store->medium;
    struct memory_file *file;
    struct kept *kept;
    bool is_locked;

    (void)call;
    pthread_mutex_lock(&medium->lock);
    kept = find(medium, name);
    is_locked = medium->config.has_locks && mode == STORE_WRITE && kept->owner;
    if (!is_locked && mode == STORE_WRITE)
        kept->owner = base;
    pthread_mutex_unlock(&medium->lock);
    if (is_locked)
        return err_set(error, ERR_CONFLICT, "StateLocked", "another process has it open to write");
    file = NEW(struct memory_file);
    file->base.store = base;
    file->kept = kept;
    file->mode = mode;
    *ret = &file->base;
    return 0;
}

static void memory_close(struct store_file *base)
{
    struct memory_file *file = (struct memory_file *)base;
    struct memory_medium *medium;

    if (!file)
        return;
    medium = medium_of(file);
    pthread_mutex_lock(&medium->lock);
    if (file->mode == STORE_WRITE && file->kept->owner == base->store)
        file->kept->owner = NULL;
    pthread_mutex_unlock(&medium->lock);
    free(file);
}

/* Lock held. */
static int copy_out(struct memory_file *file, struct document *ret, struct error *error)
{
    const struct kept *kept = file->kept;

    medium_of(file)->counts[MEMORY_READ]++;
    file->version = kept->exists ? kept->version : 0;
    if (!kept->exists)
        return err_set(error, ERR_NOT_FOUND, NULL, "there is no such document");
    if (kept->damaged)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "the %s is damaged", kept->damaged);
    document_done(ret);
    buf_add(&ret->open, kept->document.open.data, kept->document.open.length);
    buf_add(&ret->secret, kept->document.secret.data, kept->document.secret.length);
    for (size_t i = 0; i < kept->document.n_entries; i++)
        add_entry(ret, kept->document.entries[i].data, kept->document.entries[i].length);
    return 0;
}

static int memory_read(struct store_file *base, const struct store_call *call, struct document *ret,
                       struct error *error)
{
    struct memory_file *file = (struct memory_file *)base;
    struct memory_medium *medium = medium_of(file);
    int r;

    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, NULL, "%s", cancel_reason(call->cancel));
    pthread_mutex_lock(&medium->lock);
    r = copy_out(file, ret, error);
    pthread_mutex_unlock(&medium->lock);
    return r;
}

static int memory_write(struct store_file *base, const struct store_call *call,
                        const struct document *document, struct error *error)
{
    return run(base, call, &(struct change){.call = MEMORY_WRITE, .document = document}, error);
}

static int memory_append(struct store_file *base, const struct store_call *call, const void *bytes,
                         size_t length, struct error *error)
{
    return run(base, call,
               &(struct change){.call = MEMORY_APPEND, .bytes = bytes, .length = length}, error);
}

static int memory_remove(struct store_file *base, const struct store_call *call,
                         struct error *error)
{
    return run(base, call, &(struct change){.call = MEMORY_REMOVE}, error);
}

static bool is_wanted(const struct kept *kept, enum document_kind kind, const struct spec_key *spec)
{
    return kept->exists && kept->name.kind == kind &&
           (!spec || (str_equal(kept->spec_name, spec->name) &&
                      str_equal(kept->namespace_name, spec->namespace_name)));
}

static int memory_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                       store_on_name *fn, void *arg, const struct store_call *call,
                       struct error *error)
{
    struct memory_medium *medium = ((struct memory_store *)base)->medium;
    const struct document_name **names;
    size_t count = 0;
    int r = 0;

    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, NULL, "%s", cancel_reason(call->cancel));
    pthread_mutex_lock(&medium->lock);
    names = NEW_ARRAY(const struct document_name *, medium->documents.count + 1);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&medium->documents, e));)
        if (is_wanted(e->value, kind, spec))
            names[count++] = &((struct kept *)e->value)->name;
    pthread_mutex_unlock(&medium->lock);
    for (size_t i = 0; i < count && r == 0; i++)
        r = fn(arg, names[i], error);
    free(names);
    return r;
}

static char *memory_describe(struct store *base, const struct document_name *name)
{
    (void)base;
    return str_printf("%s of %s/%s%s%s in memory", document_kind_name(name->kind),
                      name->spec.namespace_name, name->spec.name, name->item ? ", " : "",
                      name->item ? name->item : "");
}

#define OPS                                                                                   \
    .type = "memory", .free = memory_free, .open = memory_open, .close = memory_close,        \
    .read = memory_read, .write = memory_write, .remove = memory_remove, .list = memory_list, \
    .describe = memory_describe

static const struct store_ops ops = {OPS, .append = memory_append};
static const struct store_ops ops_without_append = {OPS};

struct store *memory_store_new(struct memory_medium *medium)
{
    struct memory_store *store = NEW(struct memory_store);

    store->base.ops = medium->config.cannot_append ? &ops_without_append : &ops;
    store->medium = medium;
    return &store->base;
}
