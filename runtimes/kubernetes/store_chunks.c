/* The chunks of a State: store_private.h. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/store_private.h"

/* Of a chunk: sha256 of its bytes, in hexadecimal. */
#define CHECKSUM_ANNOTATION "api.kusion.io/checksum"
/* Hexadecimal digits of a part's checksum in its chunks' names. */
#define NAME_DIGITS 12

const struct part store_open_part = {"configmaps", "ConfigMap", "binaryData",
                                     "checksum",   "chunks",    'o'};
const struct part store_secret_part = {"secrets",        "Secret",       "data",
                                       "secretChecksum", "secretChunks", 's'};

static const struct part *const parts[] = {&store_open_part, &store_secret_part};

/* What the names of all chunks of a part begin with. */
static char *prefix_of(const char *head, const char *checksum, const struct part *part)
{
    return str_printf("%s-%.*s-%c", head, NAME_DIGITS, checksum, part->suffix);
}

static char *name_of(const char *head, const char *checksum, const struct part *part, size_t i)
{
    return str_printf("%s-%.*s-%c%zu", head, NAME_DIGITS, checksum, part->suffix, i);
}

/* ---- Reading ---- */

static int check_bytes(const struct kube_store *store, const struct value *object,
                       const struct part *part, const char *name, const char *bytes, size_t length,
                       struct error *error)
{
    const char *expected =
        value_string(value_path(object, "metadata", "annotations", CHECKSUM_ANNOTATION, NULL));
    char actual[HASH_HEX_SIZE];

    hash_hex(bytes, length, actual);
    if (!expected || str_equal(actual, expected))
        return 0;
    return err_set(error, ERR_CORRUPT, STATE_CORRUPT,
                   "State's chunk %s %s/%s is damaged: it does not match its checksum", part->kind,
                   store->namespace_name, name);
}

static int read_chunk(struct kube_store *store, const struct part *part, const char *name,
                      struct cancel *cancel, struct buf *to, struct error *error)
{
    _cleanup_free_ char *path = store_path(store, part->plural, name);
    _cleanup_value_ const struct value *object = NULL;
    size_t before = to->length;
    struct error problem = {0};
    int r = kube_get(store->client, path, cancel, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_CORRUPT, STATE_CORRUPT, "State's chunk %s %s/%s is missing",
                       part->kind, store->namespace_name, name);
    if (r < 0)
        return err_copy(error, &problem);
    r = store_bytes(store, object, part->kind, part->field, name, to, error);
    if (r < 0)
        return r;
    return check_bytes(store, object, part, name, to->data + before, to->length - before, error);
}

int chunks_read(struct kube_store *store, const struct part *part, const char *head,
                const char *checksum, size_t count, struct cancel *cancel, struct buf *to,
                struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *name = name_of(head, checksum, part, i);
        int r = read_chunk(store, part, name, cancel, to, error);

        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Writing ---- */

static const struct value *body_of(const struct kube_store *store, const struct part *part,
                                   const char *name, const char *head, const struct state_key *key,
                                   const char *bytes, size_t length)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char checksum[HASH_HEX_SIZE];
    const char *annotation[2] = {CHECKSUM_ANNOTATION, checksum};

    base64_encode(&text, bytes, length);
    hash_hex(bytes, length, checksum);
    return value_pack("{s:s, s:s, s:V, s:b, s:{s:s}}", "apiVersion", "v1", "kind", part->kind,
                      "metadata", store_metadata(store, name, head, key, annotation, NULL),
                      "immutable", 1, part->field, KEY_DATA, text.data);
}

/* 1: the chunk that is there is as it should be; 0: it was not, and is removed. */
static int keep_or_remove(struct kube_store *store, const struct part *part, const char *path,
                          const struct value *wanted, struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL, *options = NULL;
    const char *uid;
    struct error problem = {0};
    int r = kube_get(store->client, path, cancel, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    if (value_equal(value_get(object, part->field), value_get(wanted, part->field)) &&
        !value_path(object, "metadata", "deletionTimestamp", NULL))
        return 1;
    uid = value_string(value_path(object, "metadata", "uid", NULL));
    options = value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                         "preconditions", "uid", uid);
    r = store_do(store, "DELETE", path, options, true, cancel, NULL, &problem);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &problem) : 0;
}

static int write_chunk(struct kube_store *store, const struct part *part, const char *name,
                       const struct value *body, struct cancel *cancel, struct error *error)
{
    _cleanup_free_ char *collection = store_path(store, part->plural, NULL);
    _cleanup_free_ char *path = store_path(store, part->plural, name);
    struct error problem = {0};
    int r = store_do(store, "POST", collection, body, true, cancel, NULL, &problem);

    /* Left over by a save that was killed, most likely: its name says what should be in it. */
    if (r == ERR_EXISTS) {
        err_clear(&problem);
        r = keep_or_remove(store, part, path, body, cancel, &problem);
        if (r == 0)
            r = store_do(store, "POST", collection, body, true, cancel, NULL, &problem);
    }
    if (r >= 0)
        return 0;
    err_copy(error, &problem);
    return err_wrap(error, "writing State's chunk %s %s/%s", part->kind, store->namespace_name,
                    name);
}

int chunks_write(struct kube_store *store, const struct part *part, const char *head,
                 const struct state_key *key, const struct payload *payload, struct cancel *cancel,
                 struct error *error)
{
    for (size_t i = 0; i < payload_chunks(payload); i++) {
        _cleanup_free_ char *name = name_of(head, payload->checksum, part, i);
        _cleanup_value_ const struct value *body = NULL;
        const char *bytes;
        size_t length;
        int r;

        payload_chunk(payload, i, &bytes, &length);
        body = body_of(store, part, name, head, key, bytes, length);
        r = write_chunk(store, part, name, body, cancel, error);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Removing ---- */

struct search {
    const char *head, *keep; /* what the names to be kept begin with; NULL: none */
    char **names;
    size_t count, capacity;
};

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct search *search = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));

    (void)error;
    if (!name || str_equal(name, search->head) ||
        (search->keep && str_has_prefix(name, search->keep)))
        return 0;
    search->names =
        mem_grow(search->names, search->count, &search->capacity, sizeof(*search->names));
    search->names[search->count++] = str_new(name);
    return 0;
}

static int find_of_part(struct kube_store *store, const struct part *part, struct search *search,
                        struct error *error)
{
    _cleanup_free_ char *collection = store_path(store, part->plural, NULL);
    _cleanup_free_ char *selector = str_printf("%s=%s", KUBE_STATE_LABEL, search->head);
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_add_str(&path, collection);
    kube_path_query(&path, "labelSelector", selector);
    return kube_list(
        store->client,
        &(struct kube_list){
            .path = path.data, .metadata_only = true, .on_item = on_item, .arg = search},
        NULL, error);
}

int leftovers_find(struct kube_store *store, const char *head, const char *keep_open,
                   const char *keep_secret, struct leftovers *ret, struct error *error)
{
    const char *keep[] = {keep_open, keep_secret};
    struct leftovers found = {0};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts) && r >= 0; i++) {
        _cleanup_free_ char *prefix = keep[i] ? prefix_of(head, keep[i], parts[i]) : NULL;
        struct search search = {.head = head, .keep = prefix};

        r = find_of_part(store, parts[i], &search, error);
        found.names[i] = search.names;
        found.count[i] = search.count;
    }
    if (r < 0) {
        leftovers_done(&found);
        return r;
    }
    *ret = found;
    return 0;
}

int leftovers_remove(struct kube_store *store, const struct leftovers *leftovers,
                     struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        for (size_t j = 0; j < leftovers->count[i]; j++) {
            _cleanup_free_ char *path = store_path(store, parts[i]->plural, leftovers->names[i][j]);
            struct error problem = {0};
            int r = store_do(store, "DELETE", path, NULL, true, NULL, NULL, &problem);

            if (r < 0 && r != ERR_NOT_FOUND) {
                err_copy(error, &problem);
                return err_wrap(error, "removing State's chunk %s %s/%s", parts[i]->kind,
                                store->namespace_name, leftovers->names[i][j]);
            }
        }
    return 0;
}

void leftovers_done(struct leftovers *leftovers)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        for (size_t j = 0; j < leftovers->count[i]; j++)
            free(leftovers->names[i][j]);
        free(leftovers->names[i]);
    }
    *leftovers = (struct leftovers){0};
}
