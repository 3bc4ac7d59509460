#include "test/unit/engine/faulty_store.h"

#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct store_faults {
    pthread_mutex_t lock;
    size_t fail_in; /* 0: no fault is planned */
    enum store_fault fault;
    store_on_call *on_call;
    void *on_call_arg;
};

struct faulty {
    struct store base;
    struct store_ops ops; /* as the other has them: type, append or none */
    struct store *store;
    struct store_faults *faults;
    pthread_mutex_t lock; /* of all below, and of what its files say of it */
    bool is_killed;
    struct faulty_file *files;
};

struct faulty_file {
    struct store_file base;
    struct faulty_file *next;
    struct store_file *file; /* of the other store; lock: NULL: the store was killed */
    bool is_busy;            /* lock */
    bool is_stale;           /* what it saw is not what there is: until it is read */
    enum store_mode mode;
    struct document_name name; /* of the strings below */
    char *namespace_name, *spec_name, *item;
};

/* ---- Faults ---- */

struct store_faults *store_faults_new(void)
{
    struct store_faults *faults = NEW(struct store_faults);

    pthread_mutex_init(&faults->lock, NULL);
    return faults;
}

void store_faults_free(struct store_faults *faults)
{
    if (!faults)
        return;
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}

void store_faults_fail(struct store_faults *faults, size_t nth, enum store_fault fault)
{
    pthread_mutex_lock(&faults->lock);
    faults->fail_in = nth;
    faults->fault = fault;
    pthread_mutex_unlock(&faults->lock);
}

void store_faults_watch(struct store_faults *faults, store_on_call *fn, void *arg)
{
    pthread_mutex_lock(&faults->lock);
    faults->on_call = fn;
    faults->on_call_arg = arg;
    pthread_mutex_unlock(&faults->lock);
}

static struct faulty *store_of(const struct faulty_file *file)
{
    return (struct faulty *)file->base.store;
}

static enum store_fault ask(struct faulty_file *file, enum faulty_call call, bool is_done)
{
    struct store_faults *faults = store_of(file)->faults;
    const struct faulty_event event = {call, &file->name, file->base.store, is_done};
    store_on_call *fn;
    void *arg;

    pthread_mutex_lock(&faults->lock);
    fn = faults->on_call;
    arg = faults->on_call_arg;
    pthread_mutex_unlock(&faults->lock);
    return fn ? fn(arg, &event) : FAULT_NONE;
}

/* The fault that was planned for this change. */
static enum store_fault planned(struct store_faults *faults)
{
    enum store_fault fault = FAULT_NONE;

    pthread_mutex_lock(&faults->lock);
    if (faults->fail_in && --faults->fail_in == 0)
        fault = faults->fault;
    pthread_mutex_unlock(&faults->lock);
    return fault;
}

/* ---- Being killed ---- */

/* Lock held. Gives the document's lock back. */
static void unlock_document(struct faulty_file *file)
{
    struct store_file *inner = TAKE(file->file);

    if (inner)
        inner->store->ops->close(inner);
}

void faulty_store_kill(struct store *base)
{
    struct faulty *store = (struct faulty *)base;

    pthread_mutex_lock(&store->lock);
    store->is_killed = true;
    for (struct faulty_file *file = store->files; file; file = file->next)
        if (!file->is_busy)
            unlock_document(file);
    pthread_mutex_unlock(&store->lock);
}

static int killed(struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "the process was killed");
}

static bool is_killed(struct faulty *store)
{
    bool is;

    pthread_mutex_lock(&store->lock);
    is = store->is_killed;
    pthread_mutex_unlock(&store->lock);
    return is;
}

/* The other store is about to be called: its file, or NULL. */
static struct store_file *enter(struct faulty_file *file)
{
    struct faulty *store = store_of(file);
    struct store_file *inner;

    pthread_mutex_lock(&store->lock);
    inner = store->is_killed ? NULL : file->file;
    file->is_busy = inner != NULL;
    pthread_mutex_unlock(&store->lock);
    return inner;
}

static void leave(struct faulty_file *file)
{
    struct faulty *store = store_of(file);

    pthread_mutex_lock(&store->lock);
    file->is_busy = false;
    if (store->is_killed)
        unlock_document(file);
    pthread_mutex_unlock(&store->lock);
}

/* ---- Changes ---- */

struct change {
    enum faulty_call call;
    const struct store_call *how;
    const struct document *document; /* of a write */
    const void *bytes;               /* of an append */
    size_t length;
};

static int unavailable(struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "the store did not answer");
}

static int conflict(struct error *error)
{
    return err_set(error, ERR_CONFLICT, "StateConflict", "the document was changed meanwhile");
}

static int may_change(const struct faulty_file *file, const struct store_call *call,
                      struct error *error)
{
    if (file->mode != STORE_WRITE)
        return err_set(error, ERR_INVALID, NULL, "the document is open for reading only");
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, NULL, "%s", cancel_reason(call->cancel));
    return permit_ask(call->permit, call->use, error);
}

static int make(struct store_file *file, const struct change *change, struct error *error)
{
    const struct store_ops *ops = file->store->ops;

    switch (change->call) {
    case FAULTY_WRITE:
        return ops->write(file, change->how, change->document, error);
    case FAULTY_APPEND:
        return ops->append(file, change->how, change->bytes, change->length, error);
    case FAULTY_REMOVE:
        return ops->remove(file, change->how, error);
    case FAULTY_READ:
        break;
    }
    return err_set(error, ERR_INTERNAL, NULL, "a read is no change");
}

/* As make(), with the fault that is to happen. */
static int make_or_fail(struct faulty_file *file, const struct change *change,
                        enum store_fault fault, struct error *error)
{
    struct store_file *inner = enter(file);
    int r;

    if (!inner)
        return killed(error);
    if (fault == FAULT_NONE)
        fault = planned(store_of(file)->faults);
    if (fault == FAULT_BEFORE) {
        r = unavailable(error);
    } else if (fault == FAULT_CONFLICT || file->is_stale) {
        file->is_stale = true;
        r = conflict(error);
    } else {
        r = make(inner, change, error);
        if (r == 0 && fault == FAULT_AFTER) {
            file->is_stale = true;
            r = unavailable(error);
        }
    }
    leave(file);
    return r;
}

static int run(struct store_file *base, const struct change *change, struct error *error)
{
    struct faulty_file *file = (struct faulty_file *)base;
    int r = may_change(file, change->how, error);

    if (r == 0)
        r = make_or_fail(file, change, ask(file, change->call, false), error);
    if (r < 0)
        return r;
    ask(file, change->call, true);
    return is_killed(store_of(file)) ? killed(error) : 0;
}

/* ---- The table ---- */

static void faulty_free(struct store *base)
{
    struct faulty *store = (struct faulty *)base;

    if (!store)
        return;
    store->store->ops->free(store->store);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static int faulty_open(struct store *base, const struct document_name *name, enum store_mode mode,
                       const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct faulty *store = (struct faulty *)base;
    struct store_file *inner = NULL;
    struct faulty_file *file;
    int r = is_killed(store)
                ? killed(error)
                : store->store->ops->open(store->store, name, mode, call, &inner, error);

    if (r < 0)
        return r;
    file = NEW(struct faulty_file);
    file->base.store = base;
    file->file = inner;
    file->mode = mode;
    file->namespace_name = str_new(name->spec.namespace_name);
    file->spec_name = str_new(name->spec.name);
    file->item = str_new(name->item);
    file->name =
        (struct document_name){name->kind, {file->namespace_name, file->spec_name}, file->item};
    pthread_mutex_lock(&store->lock);
    file->next = store->files;
    store->files = file;
    pthread_mutex_unlock(&store->lock);
    *ret = &file->base;
    return 0;
}

static void faulty_close(struct store_file *base)
{
    struct faulty_file *file = (struct faulty_file *)base, **at;
    struct faulty *store;

    if (!file)
        return;
    store = store_of(file);
    pthread_mutex_lock(&store->lock);
    for (at = &store->files; *at != file; at = &(*at)->next)
        ;
    *at = file->next;
    unlock_document(file);
    pthread_mutex_unlock(&store->lock);
    free(file->namespace_name);
    free(file->spec_name);
    free(file->item);
    free(file);
}

static int faulty_read(struct store_file *base, const struct store_call *call, struct document *ret,
                       struct error *error)
{
    struct faulty_file *file = (struct faulty_file *)base;
    enum store_fault fault = ask(file, FAULTY_READ, false);
    struct store_file *inner = enter(file);
    int r;

    if (!inner)
        return killed(error);
    if (fault != FAULT_NONE)
        r = unavailable(error);
    else
        r = inner->store->ops->read(inner, call, ret, error);
    if (r == 0 || r == ERR_NOT_FOUND || r == ERR_CORRUPT)
        file->is_stale = false;
    leave(file);
    if (fault == FAULT_NONE)
        ask(file, FAULTY_READ, true);
    return r;
}

static int faulty_write(struct store_file *base, const struct store_call *call,
                        const struct document *document, struct error *error)
{
    return run(base, &(struct change){FAULTY_WRITE, call, .document = document}, error);
}

static int faulty_append(struct store_file *base, const struct store_call *call, const void *bytes,
                         size_t length, struct error *error)
{
    return run(base, &(struct change){FAULTY_APPEND, call, .bytes = bytes, .length = length},
               error);
}

static int faulty_remove(struct store_file *base, const struct store_call *call,
                         struct error *error)
{
    return run(base, &(struct change){FAULTY_REMOVE, call, .document = NULL}, error);
}

static int faulty_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                       store_on_name *fn, void *arg, const struct store_call *call,
                       struct error *error)
{
    struct faulty *store = (struct faulty *)base;

    return is_killed(store)
               ? killed(error)
               : store->store->ops->list(store->store, kind, spec, fn, arg, call, error);
}

static char *faulty_describe(struct store *base, const struct document_name *name)
{
    struct store *store = ((struct faulty *)base)->store;

    return store->ops->describe(store, name);
}

struct store *faulty_store_new(struct store_faults *faults, struct store *store)
{
    struct faulty *faulty = NEW(struct faulty);

    faulty->ops = (struct store_ops){
        .type = store->ops->type,
        .free = faulty_free,
        .open = faulty_open,
        .close = faulty_close,
        .read = faulty_read,
        .write = faulty_write,
        .append = store->ops->append ? faulty_append : NULL,
        .remove = faulty_remove,
        .list = faulty_list,
        .describe = faulty_describe,
    };
    faulty->base.ops = &faulty->ops;
    faulty->store = store;
    faulty->faults = faults;
    pthread_mutex_init(&faulty->lock, NULL);
    return &faulty->base;
}
