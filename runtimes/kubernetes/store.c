#include "runtimes/kubernetes/store.h"

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/store_private.h"

#define FORMAT     "1"
#define KEY_FORMAT "format"

/* ---- Heads that are known to have no chunks, so that small States are saved in one request ----
 */

static bool is_tidy(struct kube_store *store, const char *head)
{
    bool known;

    pthread_mutex_lock(&store->mutex);
    known = strmap_get(&store->tidy, head) != NULL;
    pthread_mutex_unlock(&store->mutex);
    return known;
}

static void set_tidy(struct kube_store *store, const char *head, bool tidy)
{
    char *known;

    pthread_mutex_lock(&store->mutex);
    known = strmap_remove(&store->tidy, head);
    if (tidy) {
        known = known ? known : str_new(head);
        strmap_put(&store->tidy, known, known);
    } else {
        free(known);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* ---- Reading ---- */

static const char *text_of(const struct value *head, const char *key)
{
    return value_string(value_path(head, "data", key, NULL));
}

static int64_t number_of(const struct value *head, const char *key)
{
    const char *text = text_of(head, key);
    int64_t number = 0;

    return text && str_to_int64(text, &number) ? number : -1;
}

static int head_corrupt(const struct kube_store *store, const char *name, const char *how,
                        struct error *error)
{
    return err_set(error, ERR_CORRUPT, STATE_CORRUPT, "State's head ConfigMap %s/%s %s",
                   store->namespace_name, name, how);
}

static int read_part(struct kube_store *store, const struct value *head, const char *name,
                     const struct part *part, struct cancel *cancel, struct buf *to,
                     struct error *error)
{
    const char *checksum = text_of(head, part->checksum);
    int64_t chunks = number_of(head, part->chunks);
    char actual[HASH_HEX_SIZE];
    int r;

    if (!checksum || chunks < 0 || chunks > LIMIT_CHUNKS)
        return head_corrupt(store, name, "is damaged: it does not say what State consists of",
                            error);
    r = chunks ? chunks_read(store, part, name, checksum, (size_t)chunks, cancel, to, error)
               : store_bytes(store, head, "ConfigMap", "binaryData", name, to, error);
    if (r < 0)
        return r;
    hash_hex(to->data, to->length, actual);
    if (!str_equal(actual, checksum))
        return head_corrupt(store, name,
                            chunks ? "is damaged, or its chunks are: their checksums differ"
                                   : "is damaged: State in it does not match its checksum",
                            error);
    return 0;
}

static int load_from_head(struct kube_store *store, const struct value *head, const char *name,
                          struct cancel *cancel, struct state **ret, struct error *error)
{
    struct buf open = BUF_INIT, secret = BUF_INIT;
    struct error problem = {0};
    int r;

    if (!str_equal(text_of(head, KEY_FORMAT), FORMAT))
        return head_corrupt(store, name, "is damaged, or of a later version's format", error);
    r = read_part(store, head, name, &store_open_part, cancel, &open, &problem);
    if (r >= 0 &&
        (text_of(head, store_secret_part.checksum) || text_of(head, store_secret_part.chunks)))
        r = read_part(store, head, name, &store_secret_part, cancel, &secret, &problem);
    if (r >= 0) {
        r = state_decode(open.data, open.length, secret.data, secret.length, ret, &problem);
        if (r < 0)
            err_wrap(&problem, "State of ConfigMap %s/%s", store->namespace_name, name);
    }
    buf_done(&open);
    buf_done(&secret);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static const char *version_of(const struct value *head)
{
    return value_string(value_path(head, "metadata", "resourceVersion", NULL));
}

static bool has_chunks(const struct value *head)
{
    return number_of(head, store_open_part.chunks) > 0 ||
           number_of(head, store_secret_part.chunks) > 0;
}

static int store_load(struct state_store *base, const struct state_key *key, struct cancel *cancel,
                      struct state **ret, char **ret_version, struct error *error)
{
    struct kube_store *store = (struct kube_store *)base;
    _cleanup_free_ char *path = NULL, *before = NULL;
    char name[STATE_NAME_SIZE];

    state_key_name(key, name);
    path = store_path(store, "configmaps", name);
    /* A chunk that is missing may have been removed by a save since the head was read. */
    for (;;) {
        _cleanup_value_ const struct value *head = NULL;
        struct error problem = {0};
        int r = kube_get(store->client, path, cancel, &head, &problem);

        if (r >= 0)
            r = load_from_head(store, head, name, cancel, ret, &problem);
        if (r >= 0) {
            if (has_chunks(head))
                set_tidy(store, name, false);
            *ret_version = str_new(version_of(head));
            return 0;
        }
        if (r != ERR_CORRUPT || str_equal(before, version_of(head)))
            return err_copy(error, &problem);
        free(before);
        before = str_new(version_of(head));
    }
}

/* ---- Writing ---- */

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
                      "kind", "ConfigMap", "metadata", metadata, "data", KEY_FORMAT, FORMAT,
                      store_open_part.checksum, open->checksum, store_open_part.chunks, chunks,
                      store_secret_part.checksum, has_secret ? secret->checksum : NULL,
                      store_secret_part.chunks, has_secret ? secret_chunks : NULL, "binaryData",
                      bytes);
}

/* The outcome of a swap is not known: is the head as we wanted it? */
static int swap_happened(struct kube_store *store, const char *path, const struct value *body,
                         const char *before, const struct value **ret)
{
    _cleanup_value_ const struct value *head = NULL;

    if (kube_get(store->client, path, NULL, &head, NULL) < 0 ||
        !value_equal(value_get(head, "data"), value_get(body, "data")) ||
        str_equal(version_of(head), before))
        return 0;
    *ret = TAKE(head);
    return 1;
}

static int conflict(const char *message, struct error *error)
{
    return err_set(error, ERR_CONFLICT, "StateConflict",
                   "State was changed by someone else meanwhile: %s", message);
}

static int swap_head(struct kube_store *store, const char *name, const struct value *body,
                     const char *version, struct cancel *cancel, const struct value **ret,
                     struct error *error)
{
    _cleanup_free_ char *path = store_path(store, "configmaps", name);
    _cleanup_free_ char *collection = store_path(store, "configmaps", NULL);
    struct error problem = {0};
    int r = version ? store_do(store, "PUT", path, body, false, cancel, ret, &problem)
                    : store_do(store, "POST", collection, body, false, cancel, ret, &problem);

    if ((r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) &&
        swap_happened(store, path, body, version, ret))
        return 0;
    if (r == ERR_EXISTS || r == ERR_CONFLICT || (r == ERR_NOT_FOUND && version))
        return conflict(problem.message, error);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* Chunks, head: gives the head as it is then. */
static int write_all(struct kube_store *store, const struct state_key *key, const char *name,
                     const struct state *state, const struct payload *open,
                     const struct payload *secret, struct cancel *cancel, const char *version,
                     const struct value **ret, struct error *error)
{
    const char *uid[2] = {"api.kusion.io/spec-uid", state->spec_uid};
    _cleanup_value_ const struct value *metadata = NULL, *body = NULL;
    int r = 0;

    if (payload_chunks(open) > 1)
        r = chunks_write(store, &store_open_part, name, key, open, cancel, error);
    if (r >= 0)
        r = chunks_write(store, &store_secret_part, name, key, secret, cancel, error);
    if (r < 0)
        return r;
    metadata = store_metadata(store, name, name, key, uid, version);
    body = head_body(metadata, open, secret);
    return swap_head(store, name, body, version, cancel, ret, error);
}

static int save_payloads(struct kube_store *store, const struct state_key *key,
                         const struct state *state, const struct payload *open,
                         const struct payload *secret, struct cancel *cancel, char **version,
                         struct error *error)
{
    _cleanup_(leftovers_done) struct leftovers leftovers = {0};
    _cleanup_value_ const struct value *head = NULL;
    char name[STATE_NAME_SIZE];
    bool chunked = payload_chunks(open) > 1 || payload_chunks(secret);
    bool is_listed = false;
    int r;

    state_key_name(key, name);
    if (chunked)
        set_tidy(store, name, false);
    if (!is_tidy(store, name))
        is_listed =
            leftovers_find(store, name, open->checksum,
                           secret->bytes.length ? secret->checksum : NULL, &leftovers, NULL) >= 0;
    r = write_all(store, key, name, state, open, secret, cancel, *version, &head, error);
    if (r < 0)
        return r;
    free(*version);
    *version = str_new(version_of(head));
    /* Best effort: the next save or remove goes over them again. */
    if (is_listed && leftovers_remove(store, &leftovers, NULL) >= 0 && !chunked)
        set_tidy(store, name, true);
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

/* Without a version there should be no head. */
static int remove_head(struct kube_store *store, const char *name, const char *version,
                       struct cancel *cancel, struct error *error)
{
    _cleanup_free_ char *path = store_path(store, "configmaps", name);
    _cleanup_value_ const struct value *body = NULL;
    struct error problem = {0};
    int r;

    if (!version) {
        r = kube_get(store->client, path, cancel, NULL, &problem);
        if (r >= 0)
            return conflict("there is one now", error);
    } else {
        body = value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                          "preconditions", "resourceVersion", version);
        r = store_do(store, "DELETE", path, body, true, cancel, NULL, &problem);
    }
    if (r == ERR_CONFLICT)
        return conflict(problem.message, error);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &problem) : 0;
}

static int store_remove(struct state_store *base, const struct state_key *key, const char *version,
                        struct cancel *cancel, struct error *error)
{
    struct kube_store *store = (struct kube_store *)base;
    _cleanup_(leftovers_done) struct leftovers leftovers = {0};
    char name[STATE_NAME_SIZE];
    int r = 0;

    state_key_name(key, name);
    if (!is_tidy(store, name))
        r = leftovers_find(store, name, NULL, NULL, &leftovers, error);
    /* The head first: from then on there is no State, whatever chunks are left. */
    if (r >= 0)
        r = remove_head(store, name, version, cancel, error);
    if (r < 0)
        return r;
    set_tidy(store, name, false);
    return leftovers_remove(store, &leftovers, error);
}

static const struct state_store_ops ops = {store_load, store_save, store_remove};

struct state_store *kube_store_new(const struct kube_store_config *config)
{
    struct kube_store *store = NEW(struct kube_store);

    store->base.ops = &ops;
    store->client = config->client;
    store->namespace_name = str_new(config->namespace_name);
    pthread_mutex_init(&store->mutex, NULL);
    strmap_init(&store->tidy);
    return &store->base;
}

void kube_store_free(struct state_store *base)
{
    struct kube_store *store = (struct kube_store *)base;

    if (!store)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&store->tidy, e));)
        free(e->value);
    strmap_done(&store->tidy);
    pthread_mutex_destroy(&store->mutex);
    free(store->namespace_name);
    free(store);
}
