#include "runtimes/kubernetes/store.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/codec.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"

#define FORMAT   "1"
#define KEY_DATA "state"
/* Hexadecimal digits of a checksum in a chunk's name. */
#define NAME_DIGITS 12

struct kube_store {
    struct state_store base;
    struct kube_client *client;
    char *namespace_name;
};

/* The two parts of a State: where their chunks are, and what the head calls them. */
struct part {
    const char *plural, *kind;     /* of the chunks */
    const char *checksum, *chunks; /* keys of the head's data */
    char suffix;                   /* in chunks' names */
};

static const struct part open_part = {"configmaps", "ConfigMap", "checksum", "chunks", 'o'};
static const struct part secret_part = {"secrets", "Secret", "secretChecksum", "secretChunks", 's'};

static char *path_of(const struct kube_store *store, const char *plural, const char *name)
{
    return kube_path("v1", store->namespace_name, plural, name, NULL);
}

static char *chunk_name(const char *head, const char *checksum, const struct part *part, size_t i)
{
    return str_printf("%s-%.*s-%c%zu", head, NAME_DIGITS, checksum, part->suffix, i);
}

static int do_request(struct kube_store *store, const char *method, const char *path,
                      const struct value *body, bool idempotent, struct cancel *cancel,
                      const struct value **ret, struct error *error)
{
    struct kube_request request = {
        .method = method, .path = path, .body = body, .cancel = cancel, .idempotent = idempotent};

    return kube_do(store->client, &request, ret, error);
}

/* ---- Reading ---- */

/* Adds the bytes of one object's data. */
static int add_bytes(const struct value *object, const char *field, const char *name,
                     struct buf *to, struct error *error)
{
    size_t length = 0;
    const char *text = value_string_n(value_path(object, field, KEY_DATA, NULL), &length);

    if (!text || !base64_decode(to, text, length))
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "%s holds no State that can be read",
                       name);
    return 0;
}

static int read_chunk(struct kube_store *store, const struct part *part, const char *name,
                      struct cancel *cancel, struct buf *to, struct error *error)
{
    _cleanup_free_ char *path = path_of(store, part->plural, name);
    _cleanup_value_ const struct value *object = NULL;
    struct error problem = {0};
    int r = kube_get(store->client, path, cancel, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "State's chunk %s %s/%s is missing",
                       part->kind, store->namespace_name, name);
    if (r < 0)
        return err_copy(error, &problem);
    return add_bytes(object, part == &open_part ? "binaryData" : "data", name, to, error);
}

static int64_t number_of(const struct value *head, const char *key)
{
    const char *text = value_string(value_path(head, "data", key, NULL));
    int64_t number = 0;

    return text && str_to_int64(text, &number) ? number : -1;
}

static int read_part(struct kube_store *store, const struct value *head, const char *name,
                     const struct part *part, struct cancel *cancel, struct buf *to,
                     struct error *error)
{
    const char *checksum = value_string(value_path(head, "data", part->checksum, NULL));
    int64_t chunks = number_of(head, part->chunks);
    char actual[HASH_HEX_SIZE];
    int r = 0;

    if (!checksum && part == &secret_part)
        return 0;
    if (!checksum || chunks < 0 || chunks > LIMIT_CHUNKS)
        return err_set(error, ERR_CORRUPT, "StateCorrupt",
                       "State's head ConfigMap %s/%s is damaged", store->namespace_name, name);
    if (chunks == 0)
        r = add_bytes(head, "binaryData", name, to, error);
    for (int64_t i = 0; i < chunks && r >= 0; i++) {
        _cleanup_free_ char *chunk = chunk_name(name, checksum, part, (size_t)i);

        r = read_chunk(store, part, chunk, cancel, to, error);
    }
    if (r < 0)
        return r;
    hash_hex(to->data, to->length, actual);
    if (!str_equal(actual, checksum))
        return err_set(error, ERR_CORRUPT, "StateCorrupt",
                       "State of %s/%s is damaged: its %s do not match their checksum",
                       store->namespace_name, name, chunks ? "chunks" : "data");
    return 0;
}

static int load_from_head(struct kube_store *store, const struct value *head, const char *name,
                          struct cancel *cancel, struct state **ret, struct error *error)
{
    struct buf open = BUF_INIT, secret = BUF_INIT;
    int r = read_part(store, head, name, &open_part, cancel, &open, error);

    if (r >= 0)
        r = read_part(store, head, name, &secret_part, cancel, &secret, error);
    if (r >= 0)
        r = state_decode(open.data, open.length, secret.data, secret.length, ret, error);
    buf_done(&open);
    buf_done(&secret);
    return r;
}

static const char *version_of(const struct value *head)
{
    return value_string(value_path(head, "metadata", "resourceVersion", NULL));
}

static int store_load(struct state_store *base, const struct state_key *key, struct cancel *cancel,
                      struct state **ret, char **ret_version, struct error *error)
{
    struct kube_store *store = (struct kube_store *)base;
    _cleanup_free_ char *path = NULL;
    char name[STATE_NAME_SIZE];
    char *before = NULL;
    int r;

    state_key_name(key, name);
    path = path_of(store, "configmaps", name);
    /* A chunk that is missing may have been removed by a save since the head was read. */
    for (;;) {
        _cleanup_value_ const struct value *head = NULL;

        r = kube_get(store->client, path, cancel, &head, error);
        if (r < 0)
            break;
        r = load_from_head(store, head, name, cancel, ret, error);
        if (r >= 0)
            *ret_version = str_new(version_of(head));
        if (r != ERR_CORRUPT || str_equal(before, version_of(head)))
            break;
        free(before);
        before = str_new(version_of(head));
        err_clear(error);
    }
    free(before);
    return r;
}

/* ---- Writing ---- */

static const struct value *metadata_of(const struct kube_store *store, const char *name,
                                       const char *head, const struct state_key *key,
                                       const char *uid, const char *version)
{
    return value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s?}, s:s?}", "name", name,
                      "namespace", store->namespace_name, "labels", "app.kubernetes.io/managed-by",
                      "kusion-operator", KUBE_STATE_LABEL, head, "annotations",
                      "api.kusion.io/spec-namespace", key->spec_namespace,
                      "api.kusion.io/spec-name", key->spec_name, "api.kusion.io/spec-uid", uid,
                      "resourceVersion", version);
}

static int write_chunk(struct kube_store *store, const struct part *part, const char *name,
                       const struct value *metadata, const char *bytes, size_t length,
                       struct cancel *cancel, struct error *error)
{
    _cleanup_free_ char *path = path_of(store, part->plural, NULL);
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *body = NULL;
    struct error problem = {0};
    int r;

    base64_encode(&text, bytes, length);
    body =
        value_pack("{s:s, s:s, s:v, s:{s:s}}", "apiVersion", "v1", "kind", part->kind, "metadata",
                   metadata, part == &open_part ? "binaryData" : "data", KEY_DATA, text.data);
    /* The name says what is in it: one that is there already is the same. */
    r = do_request(store, "POST", path, body, true, cancel, NULL, &problem);
    if (r < 0 && r != ERR_EXISTS) {
        err_copy(error, &problem);
        return err_wrap(error, "writing State's chunk %s", name);
    }
    return 0;
}

static int write_chunks(struct kube_store *store, const struct part *part, const char *head,
                        const struct state_key *key, const struct payload *payload,
                        struct cancel *cancel, struct error *error)
{
    for (size_t i = 0; i < payload_chunks(payload); i++) {
        _cleanup_free_ char *name = chunk_name(head, payload->checksum, part, i);
        _cleanup_value_ const struct value *metadata =
            metadata_of(store, name, head, key, NULL, NULL);
        const char *bytes;
        size_t length;
        int r;

        payload_chunk(payload, i, &bytes, &length);
        r = write_chunk(store, part, name, metadata, bytes, length, cancel, error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What a head says: numbers as text, and the open part itself where it fits. */
static const struct value *head_body(const struct value *metadata, const struct payload *open,
                                     const struct payload *secret)
{
    bool inlined = payload_chunks(open) == 1;
    _cleanup_free_ char *chunks = str_printf("%zu", inlined ? 0 : payload_chunks(open));
    _cleanup_free_ char *secret_chunks = str_printf("%zu", payload_chunks(secret));
    bool has_secret = secret->bytes.length > 0;
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *bytes = NULL;

    if (inlined) {
        base64_encode(&text, open->bytes.data, open->bytes.length);
        bytes = value_pack("{s:s}", KEY_DATA, text.data);
    }
    return value_pack("{s:s, s:s, s:v, s:{s:s, s:s, s:s, s:s?, s:s?}, s:v?}", "apiVersion", "v1",
                      "kind", "ConfigMap", "metadata", metadata, "data", "format", FORMAT,
                      open_part.checksum, open->checksum, open_part.chunks, chunks,
                      secret_part.checksum, has_secret ? secret->checksum : NULL,
                      secret_part.chunks, has_secret ? secret_chunks : NULL, "binaryData", bytes);
}

/* The outcome of a swap is not known: is the head as we wanted it? */
static int swap_happened(struct kube_store *store, const char *path, const struct payload *open,
                         const char *before, const struct value **ret)
{
    _cleanup_value_ const struct value *head = NULL;

    if (kube_get(store->client, path, NULL, &head, NULL) < 0 ||
        !str_equal(value_string(value_path(head, "data", open_part.checksum, NULL)),
                   open->checksum) ||
        str_equal(version_of(head), before))
        return 0;
    *ret = TAKE(head);
    return 1;
}

static int swap_head(struct kube_store *store, const char *name, const struct value *body,
                     const struct payload *open, const char *version, struct cancel *cancel,
                     const struct value **ret, struct error *error)
{
    _cleanup_free_ char *path = path_of(store, "configmaps", name);
    _cleanup_free_ char *collection = path_of(store, "configmaps", NULL);
    struct error problem = {0};
    int r = version ? do_request(store, "PUT", path, body, false, cancel, ret, &problem)
                    : do_request(store, "POST", collection, body, false, cancel, ret, &problem);

    if ((r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) &&
        swap_happened(store, path, open, version, ret))
        return 0;
    if (r == ERR_EXISTS || r == ERR_CONFLICT || (r == ERR_NOT_FOUND && version))
        return err_set(error, ERR_CONFLICT, "StateConflict",
                       "State was changed by someone else meanwhile: %s", problem.message);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* ---- Removing chunks that no head names ---- */

struct sweep {
    const char *keep_open, *keep_secret; /* checksums; NULL: none */
    char **names;
    size_t count, capacity;
    const char *head;
    const struct part *part;
};

static bool is_kept(const struct sweep *sweep, const char *name)
{
    const char *checksum = sweep->part == &open_part ? sweep->keep_open : sweep->keep_secret;
    _cleanup_free_ char *prefix =
        checksum ? str_printf("%s-%.*s-%c", sweep->head, NAME_DIGITS, checksum, sweep->part->suffix)
                 : NULL;

    return str_equal(name, sweep->head) || (prefix && str_has_prefix(name, prefix));
}

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct sweep *sweep = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));

    (void)error;
    if (!name || is_kept(sweep, name))
        return 0;
    sweep->names = mem_grow(sweep->names, sweep->count, &sweep->capacity, sizeof(*sweep->names));
    sweep->names[sweep->count++] = str_new(name);
    return 0;
}

static int sweep_part(struct kube_store *store, struct sweep *sweep, struct error *error)
{
    _cleanup_free_ char *collection = path_of(store, sweep->part->plural, NULL);
    _cleanup_free_ char *selector = str_printf("%s=%s", KUBE_STATE_LABEL, sweep->head);
    _cleanup_buf_ struct buf path = BUF_INIT;
    int r;

    buf_add_str(&path, collection);
    kube_path_query(&path, "labelSelector", selector);
    sweep->count = 0;
    r = kube_list(store->client,
                  &(struct kube_list){
                      .path = path.data, .metadata_only = true, .on_item = on_item, .arg = sweep},
                  NULL, error);
    for (size_t i = 0; i < sweep->count; i++) {
        _cleanup_free_ char *chunk = path_of(store, sweep->part->plural, sweep->names[i]);
        struct error problem = {0};

        if (r >= 0) {
            r = do_request(store, "DELETE", chunk, NULL, true, NULL, NULL, &problem);
            r = r == ERR_NOT_FOUND ? 0 : r < 0 ? err_copy(error, &problem) : 0;
        }
        free(sweep->names[i]);
    }
    return r;
}

static int sweep(struct kube_store *store, const char *head, const char *keep_open,
                 const char *keep_secret, struct error *error)
{
    struct sweep sweep = {
        .keep_open = keep_open, .keep_secret = keep_secret, .head = head, .part = &open_part};
    int r = sweep_part(store, &sweep, error);

    sweep.part = &secret_part;
    if (r >= 0)
        r = sweep_part(store, &sweep, error);
    free(sweep.names);
    return r;
}

static int save_payloads(struct kube_store *store, const struct state_key *key,
                         const struct state *state, const struct payload *open,
                         const struct payload *secret, struct cancel *cancel, char **version,
                         struct error *error)
{
    _cleanup_value_ const struct value *metadata = NULL, *body = NULL, *head = NULL;
    char name[STATE_NAME_SIZE];
    bool chunked = payload_chunks(open) > 1 || payload_chunks(secret);
    int r = 0;

    state_key_name(key, name);
    if (payload_chunks(open) > 1)
        r = write_chunks(store, &open_part, name, key, open, cancel, error);
    if (r >= 0)
        r = write_chunks(store, &secret_part, name, key, secret, cancel, error);
    if (r < 0)
        return r;
    metadata = metadata_of(store, name, name, key, state->spec_uid, *version);
    body = head_body(metadata, open, secret);
    r = swap_head(store, name, body, open, *version, cancel, &head, error);
    if (r < 0)
        return r;
    free(*version);
    *version = str_new(version_of(head));
    /* Best effort: the next save or remove goes over them again. */
    if (chunked)
        sweep(store, name, open->checksum, secret->bytes.length ? secret->checksum : NULL, NULL);
    return 0;
}

static int store_save(struct state_store *base, const struct state_key *key,
                      const struct state *state, struct cancel *cancel, char **version,
                      struct error *error)
{
    struct payload open, secret;
    int r = state_encode(state, &open, &secret, error);

    if (r < 0)
        return r;
    r = save_payloads((struct kube_store *)base, key, state, &open, &secret, cancel, version,
                      error);
    payload_done(&open);
    payload_done(&secret);
    return r;
}

static int store_remove(struct state_store *base, const struct state_key *key, const char *version,
                        struct cancel *cancel, struct error *error)
{
    struct kube_store *store = (struct kube_store *)base;
    _cleanup_value_ const struct value *body =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "resourceVersion", version);
    _cleanup_free_ char *path = NULL;
    char name[STATE_NAME_SIZE];
    struct error problem = {0};
    int r;

    state_key_name(key, name);
    path = path_of(store, "configmaps", name);
    /* The head first: from then on there is no State, whatever chunks are left. */
    r = do_request(store, "DELETE", path, body, true, cancel, NULL, &problem);
    if (r < 0 && r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    return sweep(store, name, NULL, NULL, error);
}

static const struct state_store_ops ops = {store_load, store_save, store_remove};

struct state_store *kube_store_new(const struct kube_store_config *config)
{
    struct kube_store *store = NEW(struct kube_store);

    store->base.ops = &ops;
    store->client = config->client;
    store->namespace_name = str_new(config->namespace_name);
    return &store->base;
}

void kube_store_free(struct state_store *base)
{
    struct kube_store *store = (struct kube_store *)base;

    if (!store)
        return;
    free(store->namespace_name);
    free(store);
}
