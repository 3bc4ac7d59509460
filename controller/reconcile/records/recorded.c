#include "controller/reconcile/records/recorded.h"

#include "controller/desk/desk.h"
#include "controller/reconcile/records/context.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/compress.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"

/* ---- Content ---- */

static const char *const fields[] = {"resources", "secretStore", "context"};

/* Pointers to what is sensitive, because it came from a Secret (sources.h): JSON does not tell. */
#define SENSITIVE "sensitive"

static const struct value *content_of(const struct value *object)
{
    const struct value *spec = value_get(object, "spec");
    _cleanup_value_ const struct value *content =
        value_pack("{s:v?, s:v?, s:v?}", fields[0], value_get(spec, fields[0]), fields[1],
                   value_get(spec, fields[1]), fields[2], value_get(spec, fields[2]));
    _cleanup_value_ const struct value *paths =
        value_has_sensitive(content) ? value_sensitive_paths(content) : NULL;

    return paths ? value_with(content, SENSITIVE, paths) : value_ref(content);
}

static void digest_content(const struct reconcile_context *context, const struct value *object,
                           const struct value *content, char ret[HASH_HEX_SIZE])
{
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
    hash_add_str(hash, value_string(value_path(object, "metadata", "uid", NULL)));
    hash_add(hash, text.data, text.length);
    hash_finish_hex(hash, ret);
    hash_free(hash);
}

void recorded_digest(const struct reconcile_context *context, const struct value *object,
                     char ret[HASH_HEX_SIZE])
{
    _cleanup_value_ const struct value *content = content_of(object);

    digest_content(context, object, content, ret);
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

/* ---- What may be shown ---- */

/* The least that any of the content has. A context may have credentials. */
static enum runtime_exposure least_exposure(const struct reconcile_context *context,
                                            const struct value *object, const struct value *content)
{
    const struct value *resources = value_get(content, fields[0]);
    const char *namespace_name = value_string(value_path(object, "metadata", "namespace", NULL));
    enum runtime_exposure least = EXPOSURE_VIEWED;

    if (value_get(content, SENSITIVE) || value_get(content, fields[1]) ||
        value_get(content, fields[2]))
        return EXPOSURE_SECRET;
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const struct runtime *runtime =
            context_runtime(context, value_get_string(resource, "type"));
        /* As its runtime says: others do not know which values of a resource are secret. */
        enum runtime_exposure one =
            runtime && runtime->ops->exposure
                ? runtime->ops->exposure(value_get(resource, "attributes"), namespace_name)
                : EXPOSURE_SECRET;

        least = one < least ? one : least;
    }
    return least;
}

const struct value *recorded_resources(const struct reconcile_context *context,
                                       const struct value *object)
{
    _cleanup_value_ const struct value *content = content_of(object);
    _cleanup_buf_ struct buf text;

    buf_init(&text, RECORDED_IN_RELEASE);
    if (!content || least_exposure(context, object, content) != EXPOSURE_VIEWED)
        return NULL;
    json_write(&text, value_get(content, fields[0]), JSON_COMPACT);
    return buf_overflowed(&text) ? NULL : value_path(object, "spec", fields[0], NULL);
}

/* ---- Documents ---- */

static int encode(const struct reconcile_context *context, const struct value *object,
                  struct document *ret, struct error *error)
{
    _cleanup_value_ const struct value *content = content_of(object);
    _cleanup_value_ const struct value *nothing = value_pack("{}");
    int r;

    if (least_exposure(context, object, content) != EXPOSURE_SECRET)
        return value_compress(content, &ret->open, error);
    r = value_compress(nothing, &ret->open, error);
    return r < 0 ? r : value_compress(content, &ret->secret, error);
}

static int decode(const struct document *document, const struct value **ret, struct error *error)
{
    const struct buf *part = document->secret.length ? &document->secret : &document->open;
    _cleanup_value_ const struct value *content = NULL;
    int r = value_expand(part->data, part->length, &content, error);
    const struct value *sensitive = value_get(content, SENSITIVE);

    if (r >= 0)
        *ret = sensitive ? value_mark_paths(content, sensitive) : value_ref(content);
    return r;
}

int recorded_keep(const struct reconcile_context *context, const struct spec_key *spec,
                  const struct value *object, const char *digest, struct error *error)
{
    const struct store_call call = context_call(context, NULL);
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    const struct store_ops *ops = context->store->ops;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r;

    if (desk_recorded_was_kept(context->desk, spec, digest))
        return 0;
    r = encode(context, object, &document, &problem);
    if (r >= 0)
        r = ops->open(context->store, &name, STORE_WRITE, &call, &file, &problem);
    if (r >= 0)
        r = store_replace(file, &call, &document, &problem);
    ops->close(file);
    document_done(&document);
    if (r >= 0) {
        desk_note_recorded(context->desk, spec, digest);
        return 0;
    }
    err_wrap(&problem, "recording the Spec for rollbacks");
    return err_copy(error, &problem);
}

/* ---- Reading ---- */

static int read_document(const struct reconcile_context *context, const struct spec_key *spec,
                         const char *digest, struct cancel *cancel, const struct value **ret,
                         struct error *error)
{
    const struct store_call call = context_call(context, cancel);
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    int r = store_load(context->store, &name, &call, &document, error);

    if (r >= 0)
        r = decode(&document, ret, error);
    return r;
}

/* A Release can be made by anybody with the right to. */
static int check_resources(const struct reconcile_context *context, const struct value *object,
                           const char *digest, const struct value *resources,
                           const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *content = value_pack("{s:v}", fields[0], resources);
    char actual[HASH_HEX_SIZE];

    digest_content(context, object, content, actual);
    if (!str_equal(actual, digest))
        return err_set(error, ERR_CORRUPT, NULL,
                       "the Release's resources are not what was applied");
    *ret = TAKE(content);
    return 0;
}

int recorded_apply(const struct reconcile_context *context, const struct spec_key *spec,
                   const char *digest, const struct value *resources, const struct value *object,
                   struct cancel *cancel, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *content = NULL;
    int r = resources ? check_resources(context, object, digest, resources, &content, error)
                      : read_document(context, spec, digest, cancel, &content, error);

    if (r >= 0)
        *ret = with(object, content);
    else
        err_wrap(error, "reading the Spec of an earlier revision");
    return r;
}

/* ---- Removing ---- */

int recorded_drop(const struct reconcile_context *context, const struct spec_key *spec,
                  const char *digest, struct error *error)
{
    const struct store_call call = context_call(context, NULL);
    const struct document_name name = {DOCUMENT_SPEC, *spec, digest};
    int r = store_drop(context->store, &name, &call, error);

    desk_note_recorded(context->desk, spec, NULL);
    if (r < 0)
        err_wrap(error, "removing the recorded Spec of an earlier revision");
    return r;
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

/* is_needed: NULL: nothing is. */
static int drop_but(const struct reconcile_context *context, const struct spec_key *spec,
                    recorded_is_needed *is_needed, const void *arg, struct error *error)
{
    const struct store_call call = context_call(context, NULL);
    struct store *store = context->store;
    struct digests digests = {0};
    int r = store->ops->list(store, DOCUMENT_SPEC, spec, on_document, &digests, &call, error);

    for (size_t i = 0; i < digests.count; i++) {
        if (r >= 0 && (!is_needed || !is_needed(arg, digests.items[i])))
            r = recorded_drop(context, spec, digests.items[i], error);
        free(digests.items[i]);
    }
    free(digests.items);
    return r;
}

int recorded_drop_all(const struct reconcile_context *context, const struct spec_key *spec,
                      struct error *error)
{
    int r;

    if (desk_recorded_was_kept(context->desk, spec, ""))
        return 0;
    r = drop_but(context, spec, NULL, NULL, error);
    if (r >= 0)
        desk_note_recorded(context->desk, spec, "");
    return r;
}

int recorded_sweep(const struct reconcile_context *context, const struct spec_key *spec,
                   size_t limit, recorded_is_needed *is_needed, const void *arg,
                   struct error *error)
{
    return desk_sweep_is_due(context->desk, spec, limit)
               ? drop_but(context, spec, is_needed, arg, error)
               : 0;
}
