#include "controller/reconcile/recorded.h"

#include <pthread.h>

#include "controller/reconcile/context.h"
#include "controller/reconcile/exposed.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/state/compress.h"

/* A Spec of which it is known what was kept last. */
struct last {
    char *key;                  /* "namespace/name" */
    char digest[HASH_HEX_SIZE]; /* "": nothing is kept of it */
};

struct recorded {
    pthread_mutex_t lock;
    struct strmap last; /* by key */
};

struct recorded *recorded_new(void)
{
    struct recorded *recorded = NEW(struct recorded);

    pthread_mutex_init(&recorded->lock, NULL);
    strmap_init(&recorded->last);
    return recorded;
}

static void last_free(struct last *last)
{
    if (!last)
        return;
    free(last->key);
    free(last);
}

void recorded_free(struct recorded *recorded)
{
    if (!recorded)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&recorded->last, e));)
        last_free(e->value);
    strmap_done(&recorded->last);
    pthread_mutex_destroy(&recorded->lock);
    free(recorded);
}

/* ---- What was kept last ---- */

static bool was_kept(struct recorded *recorded, const struct spec_key *spec, const char *digest)
{
    _cleanup_free_ char *key = str_printf("%s/%s", spec->namespace_name, spec->name);
    const struct last *last;
    bool was;

    pthread_mutex_lock(&recorded->lock);
    last = strmap_get(&recorded->last, key);
    was = last && str_equal(last->digest, digest);
    pthread_mutex_unlock(&recorded->lock);
    return was;
}

/* digest: NULL: nothing is known any more. */
static void set_kept(struct recorded *recorded, const struct spec_key *spec, const char *digest)
{
    char *key = str_printf("%s/%s", spec->namespace_name, spec->name);
    struct last *last;

    pthread_mutex_lock(&recorded->lock);
    last_free(strmap_remove(&recorded->last, key));
    if (digest) {
        last = NEW(struct last);
        last->key = TAKE(key);
        str_copy(last->digest, sizeof(last->digest), digest);
        strmap_put(&recorded->last, last->key, last);
    }
    pthread_mutex_unlock(&recorded->lock);
    free(key);
}

/* ---- Content ---- */

static const char *const fields[] = {"resources", "secretStore", "context"};

static const struct value *content_of(const struct value *object)
{
    const struct value *spec = value_get(object, "spec");

    return value_pack("{s:v?, s:v?, s:v?}", fields[0], value_get(spec, fields[0]), fields[1],
                      value_get(spec, fields[1]), fields[2], value_get(spec, fields[2]));
}

void recorded_digest(const struct reconcile_context *context, const struct value *object,
                     char ret[HASH_HEX_SIZE])
{
    _cleanup_value_ const struct value *content = content_of(object);
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct hash *hash;

    ret[0] = '\0';
    if (!content)
        return;
    json_write(&text, content, JSON_CANONICAL);
    if (buf_overflowed(&text))
        return;
    hash = hash_new_keyed(context->plan_key, sizeof(context->plan_key));
    hash_add_str(hash, "spec");
    hash_add(hash, text.data, text.length);
    hash_finish_hex(hash, ret);
    hash_free(hash);
}

static const struct value *with(const struct value *object, const struct value *content)
{
    const struct value *spec = value_ref(value_get(object, "spec")), *result;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const struct value *field = value_get(content, fields[i]);
        const struct value *next =
            field ? value_with(spec, fields[i], field) : value_without(spec, fields[i]);

        value_unref(spec);
        spec = next;
    }
    result = value_with(object, "spec", spec);
    value_unref(spec);
    return result;
}

/* ---- Documents ---- */

/* Only the runtime of a resource knows which values are secret: of Kubernetes, those of Secrets. A
 * context may have credentials. */
static bool may_be_secret(const struct value *content)
{
    const struct value *resources = value_get(content, fields[0]);
    _cleanup_free_ char *exposed = exposed_secrets(resources);

    for (size_t i = 0; i < value_count(resources); i++)
        if (!str_equal(value_get_string(value_at(resources, i), "type"), "Kubernetes"))
            return true;
    return exposed || value_get(content, fields[1]) || value_get(content, fields[2]);
}

static int encode(const struct value *object, struct document *ret, struct error *error)
{
    _cleanup_value_ const struct value *content = content_of(object);
    _cleanup_value_ const struct value *nothing = value_pack("{}");
    int r;

    if (!may_be_secret(content))
        return value_compress(content, &ret->open, error);
    r = value_compress(nothing, &ret->open, error);
    return r < 0 ? r : value_compress(content, &ret->secret, error);
}

static int decode(const struct document *document, const struct value **ret, struct error *error)
{
    const struct buf *part = document->secret.length ? &document->secret : &document->open;

    return value_expand(part->data, part->length, ret, error);
}

int recorded_keep(const struct reconcile_context *context, const struct spec_key *spec,
                  const struct value *object, const char *digest, struct error *error)
{
    const struct store_call call = {.permit = context->permit};
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    const struct store_ops *ops = context->store->ops;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r;

    if (was_kept(context->recorded, spec, digest))
        return 0;
    r = encode(object, &document, &problem);
    if (r >= 0)
        r = ops->open(context->store, &name, STORE_WRITE, &call, &file, &problem);
    if (r >= 0)
        r = ops->write(file, &call, &document, &problem);
    ops->close(file);
    document_done(&document);
    if (r == ERR_CONFLICT) /* it is there: the name says what is in it */
        r = 0;
    if (r >= 0) {
        set_kept(context->recorded, spec, digest);
        return 0;
    }
    err_wrap(&problem, "recording the Spec for rollbacks");
    return err_copy(error, &problem);
}

int recorded_apply(const struct reconcile_context *context, const struct spec_key *spec,
                   const char *digest, const struct value *object, struct cancel *cancel,
                   const struct value **ret, struct error *error)
{
    const struct store_call call = {.permit = context->permit, .cancel = cancel};
    _cleanup_value_ const struct value *content = NULL;
    struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    int r = store_load(context->store, &name, &call, &document, &problem);

    if (r >= 0)
        r = decode(&document, &content, &problem);
    document_done(&document);
    if (r >= 0) {
        *ret = with(object, content);
        return 0;
    }
    err_wrap(&problem, "reading the Spec of an earlier revision");
    return err_copy(error, &problem);
}

/* ---- Removing ---- */

int recorded_drop(const struct reconcile_context *context, const struct spec_key *spec,
                  const char *digest, struct error *error)
{
    const struct store_call call = {.permit = context->permit};
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    struct error problem = {0};
    int r = store_drop(context->store, &name, &call, &problem);

    set_kept(context->recorded, spec, NULL);
    if (r >= 0)
        return 0;
    err_wrap(&problem, "removing the recorded Spec of an earlier revision");
    return err_copy(error, &problem);
}

struct digests {
    char **items;
    size_t count, capacity;
};

static int on_document(void *arg, const struct document_name *name, struct error *error)
{
    struct digests *digests = arg;

    (void)error;
    if (!name->item)
        return 0;
    digests->items =
        mem_grow(digests->items, digests->count, &digests->capacity, sizeof(*digests->items));
    digests->items[digests->count++] = str_new(name->item);
    return 0;
}

int recorded_drop_all(const struct reconcile_context *context, const struct spec_key *spec,
                      struct error *error)
{
    const struct store_call call = {.permit = context->permit};
    struct store *store = context->store;
    struct digests digests = {0};
    int r;

    if (was_kept(context->recorded, spec, ""))
        return 0;
    r = store->ops->list(store, DOCUMENT_SPEC, spec, on_document, &digests, &call, error);

    for (size_t i = 0; i < digests.count; i++) {
        if (r >= 0)
            r = recorded_drop(context, spec, digests.items[i], error);
        free(digests.items[i]);
    }
    free(digests.items);
    if (r >= 0)
        set_kept(context->recorded, spec, "");
    return r;
}

int recorded_forget(const struct reconcile_context *context, const struct spec_key *spec,
                    struct error *error)
{
    int r = recorded_drop_all(context, spec, error);

    if (r >= 0)
        set_kept(context->recorded, spec, NULL);
    return r;
}
