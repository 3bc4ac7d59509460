#include "controller/reconcile/plans.h"

#include <pthread.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/state/compress.h"

/* One document under a Release's name: of another Spec, too, where the Release was made anew for
 * another one. */
struct kept {
    enum document_kind kind;
    char *key, *spec; /* "namespace/release" */
    struct kept *next;
};

struct plans {
    struct store *store;
    pthread_mutex_t lock; /* of all below */
    struct strmap kept;   /* "namespace/release" to struct kept */
    bool is_listed;
};

struct plans *plans_new(struct store *store)
{
    struct plans *plans = NEW(struct plans);

    plans->store = store;
    pthread_mutex_init(&plans->lock, NULL);
    strmap_init(&plans->kept);
    return plans;
}

static void kept_free(struct kept *kept)
{
    for (struct kept *next; kept; kept = next) {
        next = kept->next;
        free(kept->key);
        free(kept->spec);
        free(kept);
    }
}
DEFINE_CLEANUP(struct kept *, kept_free)

void plans_free(struct plans *plans)
{
    if (!plans)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&plans->kept, e));)
        kept_free(e->value);
    strmap_done(&plans->kept);
    pthread_mutex_destroy(&plans->lock);
    free(plans);
}

/* ---- Which there are ---- */

/* Lock held. */
static void note(struct plans *plans, const struct document_name *name)
{
    _cleanup_free_ char *key = str_printf("%s/%s", name->spec.namespace_name, name->item);
    struct kept *first = strmap_get(&plans->kept, key), *kept = first;

    while (kept && (kept->kind != name->kind || !str_equal(kept->spec, name->spec.name)))
        kept = kept->next;
    if (kept)
        return;
    kept = NEW(struct kept);
    kept->kind = name->kind;
    kept->key = TAKE(key);
    kept->spec = str_new(name->spec.name);
    if (first) {
        kept->next = first->next;
        first->next = kept;
    } else {
        strmap_put(&plans->kept, kept->key, kept);
    }
}

/* Lock held. */
static void forget(struct plans *plans, const struct document_name *name)
{
    _cleanup_free_ char *key = str_printf("%s/%s", name->spec.namespace_name, name->item);
    struct kept *first = strmap_remove(&plans->kept, key), **at = &first, *kept;

    while (*at && ((*at)->kind != name->kind || !str_equal((*at)->spec, name->spec.name)))
        at = &(*at)->next;
    kept = *at;
    if (kept) {
        *at = TAKE(kept->next);
        kept_free(kept);
    }
    if (first)
        strmap_put(&plans->kept, first->key, first);
}

struct listing {
    struct plans *plans;
    store_on_name *fn; /* or NULL */
    void *arg;
};

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    const struct listing *listing = arg;

    if (!name->item)
        return 0;
    note(listing->plans, name);
    return listing->fn ? listing->fn(listing->arg, name, error) : 0;
}

/* Lock held. */
static int list(const struct listing *listing, const struct store_call *call, struct error *error)
{
    static const enum document_kind kinds[] = {DOCUMENT_PLAN, DOCUMENT_APPROVAL};
    struct plans *plans = listing->plans;
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && r >= 0; i++)
        r = plans->store->ops->list(plans->store, kinds[i], NULL, on_name,
                                    (void *)(uintptr_t)listing, call, error);
    plans->is_listed = plans->is_listed || r >= 0;
    return r;
}

/* Lock held. */
static int list_once(struct plans *plans, const struct store_call *call, struct error *error)
{
    const struct listing listing = {.plans = plans};

    return plans->is_listed ? 0 : list(&listing, call, error);
}

int plans_list(struct plans *plans, const struct store_call *call, store_on_name *fn, void *arg,
               struct error *error)
{
    const struct listing listing = {plans, fn, arg};
    int r;

    pthread_mutex_lock(&plans->lock);
    r = list(&listing, call, error);
    pthread_mutex_unlock(&plans->lock);
    return r;
}

/* Lock held. What is kept under the Release's name; NULL: nothing is. */
static int find(struct plans *plans, const char *namespace_name, const char *release,
                const struct store_call *call, const struct kept **ret, struct error *error)
{
    _cleanup_free_ char *key = str_printf("%s/%s", namespace_name, release);
    int r = list_once(plans, call, error);

    if (r >= 0)
        *ret = strmap_get(&plans->kept, key);
    return r;
}

int plans_has(struct plans *plans, const char *namespace_name, const char *release,
              const struct store_call *call, bool *ret, struct error *error)
{
    const struct kept *kept;
    int r;

    pthread_mutex_lock(&plans->lock);
    r = find(plans, namespace_name, release, call, &kept, error);
    if (r >= 0)
        *ret = kept != NULL;
    pthread_mutex_unlock(&plans->lock);
    return r;
}

int plans_find_approval(struct plans *plans, const char *namespace_name, const char *release,
                        const struct store_call *call, char **ret_spec, struct error *error)
{
    const struct kept *kept = NULL;
    int r;

    pthread_mutex_lock(&plans->lock);
    r = find(plans, namespace_name, release, call, &kept, error);
    while (kept && kept->kind != DOCUMENT_APPROVAL)
        kept = kept->next;
    if (r >= 0)
        *ret_spec = kept ? str_new(kept->spec) : NULL;
    pthread_mutex_unlock(&plans->lock);
    return r;
}

/* What is kept under the Release's name, taken out. */
static int take(struct plans *plans, const char *key, const struct store_call *call,
                struct kept **ret, struct error *error)
{
    int r;

    pthread_mutex_lock(&plans->lock);
    r = list_once(plans, call, error);
    if (r >= 0)
        *ret = strmap_remove(&plans->kept, key);
    pthread_mutex_unlock(&plans->lock);
    return r;
}

/* ---- One document ---- */

/* One that is there already is replaced: it is seen first. */
static int write(struct store_file *file, const struct document *document,
                 const struct store_call *call, struct error *error)
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

int plans_keep(struct plans *plans, const struct document_name *name, const struct value *plan,
               const struct store_call *call, char **ret_place, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r = value_compress(plan, &document.open, &problem);

    if (r >= 0)
        r = plans->store->ops->open(plans->store, name, STORE_WRITE, call, &file, &problem);
    if (r >= 0) {
        pthread_mutex_lock(&plans->lock);
        note(plans, name);
        pthread_mutex_unlock(&plans->lock);
        r = write(file, &document, call, &problem);
    }
    plans->store->ops->close(file);
    document_done(&document);
    if (r < 0) {
        err_wrap(&problem, "keeping the plan of Release %s/%s", name->spec.namespace_name,
                 name->item);
        return err_copy(error, &problem);
    }
    *ret_place = plans->store->ops->describe(plans->store, name);
    return 0;
}

int plans_load(struct plans *plans, const struct document_name *name, const struct store_call *call,
               const struct value **ret, struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    int r = store_load(plans->store, name, call, &document, &problem);

    if (r >= 0)
        r = value_expand(document.open.data, document.open.length, ret, &problem);
    document_done(&document);
    if (r >= 0)
        return 0;
    err_wrap(&problem, "reading the plan of Release %s/%s", name->spec.namespace_name, name->item);
    return err_copy(error, &problem);
}

/* ---- Dropping ---- */

/* The Release of an approval of that Spec; NULL: it is another document. */
static const char *release_of_approval(const struct kept *kept, const struct spec_key *spec)
{
    size_t length = strlen(spec->namespace_name);
    bool is = kept->kind == DOCUMENT_APPROVAL && str_equal(kept->spec, spec->name) &&
              strncmp(kept->key, spec->namespace_name, length) == 0 && kept->key[length] == '/';

    return is ? kept->key + length + 1 : NULL;
}

/* The Releases of a Spec of which an approval is known; strings and array: free(). */
static size_t find_approvals(struct plans *plans, const struct spec_key *spec, char ***ret)
{
    size_t n = 0, capacity = 0;

    pthread_mutex_lock(&plans->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&plans->kept, e));)
        for (const struct kept *kept = e->value; kept; kept = kept->next) {
            const char *release = release_of_approval(kept, spec);

            if (!release)
                continue;
            *ret = mem_grow(*ret, n, &capacity, sizeof(**ret));
            (*ret)[n++] = str_new(release);
        }
    pthread_mutex_unlock(&plans->lock);
    return n;
}

static int drop_approval(struct plans *plans, const struct spec_key *spec, const char *release,
                         const struct store_call *call, struct error *error)
{
    const struct document_name name = {DOCUMENT_APPROVAL, *spec, release};
    struct error problem = {0};
    int r = store_drop(plans->store, &name, call, &problem);

    if (r < 0) {
        err_wrap(&problem, "removing the approved plan of Release %s/%s", spec->namespace_name,
                 release);
        return err_copy(error, &problem);
    }
    pthread_mutex_lock(&plans->lock);
    forget(plans, &name);
    pthread_mutex_unlock(&plans->lock);
    return 0;
}

int plans_drop_approvals(struct plans *plans, const struct spec_key *spec, enum approvals_of of,
                         const char *release, const struct store_call *call, struct error *error)
{
    char **releases = NULL;
    size_t n = find_approvals(plans, spec, &releases);
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        if (r >= 0 && str_equal(releases[i], release) == (of == APPROVALS_OF))
            r = drop_approval(plans, spec, releases[i], call, error);
        free(releases[i]);
    }
    free(releases);
    return r;
}

int plans_drop(struct plans *plans, const char *namespace_name, const char *release,
               const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *key = str_printf("%s/%s", namespace_name, release);
    _cleanup_(kept_free_p) struct kept *kept = NULL;
    struct error problem = {0};
    int r = take(plans, key, call, &kept, &problem);

    for (struct kept *one = kept; one && r >= 0; one = one->next) {
        const struct document_name name = {one->kind, {namespace_name, one->spec}, release};

        r = store_drop(plans->store, &name, call, &problem);
    }
    if (r >= 0)
        return 0;
    /* What is left is tried again. */
    pthread_mutex_lock(&plans->lock);
    for (struct kept *one = kept; one; one = one->next)
        note(plans, &(struct document_name){one->kind, {namespace_name, one->spec}, release});
    pthread_mutex_unlock(&plans->lock);
    err_wrap(&problem, "removing the plan of Release %s/%s", namespace_name, release);
    return err_copy(error, &problem);
}
