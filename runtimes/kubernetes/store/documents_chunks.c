/* The chunks of a document, and its garbage: documents_private.h. */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define KEY_BYTES "bytes" /* of a chunk's data */
#define KEY_KEY   "key"   /* likewise, of secret chunks: the key of the checksums */
/* Hexadecimal digits of the part's checksum in the names of its chunks, for people who compare
 * them. */
#define NAME_DIGITS 12
/* Annotation of a chunk: the checksum of its own bytes. It tells which chunk is damaged. */
#define CHECKSUM "api.kusion.io/checksum"

static const struct {
    const struct kube_kind *kind; /* kind of the chunks: ConfigMap or Secret */
    const char *field;
    enum head_field checksum, chunks, tag;
    char suffix; /* letter of the part in the chunks' names */
} parts[PARTS] = {
    [PART_OPEN] = {&kube_config_maps, "binaryData", HEAD_CHECKSUM, HEAD_CHUNKS, HEAD_TAG, 'o'},
    [PART_SECRET] = {&kube_secrets, "data", HEAD_SECRET_CHECKSUM, HEAD_SECRET_CHUNKS,
                     HEAD_SECRET_TAG, 's'},
};

/* The prefix of the names of a part's chunks; free(). */
static char *stem_of(const struct document_file *file, const struct head *head, enum part part)
{
    const char *sum = head->fields[parts[part].checksum], *tag = head->fields[parts[part].tag];

    return str_printf("%s-%.*s-%s-%c", file->head_name, NAME_DIGITS, sum ? sum : "", tag ? tag : "",
                      parts[part].suffix);
}

/* ---- Checksums ---- */

/* Those of a secret part are seen by all who may read the head or list the chunks' names, so they
 * have a key: from a digest without one, a short secret can be guessed. key: NULL: none. */
static void checksum(const char *key, const void *bytes, size_t length, char ret[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = key ? hash_new_keyed(key, strlen(key)) : hash_new();

    hash_add(hash, bytes, length);
    hash_finish_hex(hash, ret);
}

static char *draw_key(void)
{
    char first[TAG_SIZE], second[TAG_SIZE];

    kube_draw_tag(first);
    kube_draw_tag(second);
    return str_printf("%s%s", first, second);
}

/* ---- Reading ---- */

static int key_read(const struct task *task, const struct value *object, const char *name,
                    struct head *head, struct error *error)
{
    if (head->key)
        return 0;
    return kube_object_text(object, KEY_KEY, &head->key) && head->key
               ? 0
               : err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT,
                         "Secret %s/%s is damaged: its key cannot be read",
                         task->store->namespace_name, name);
}

static int chunk_read(const struct task *task, struct head *head, enum part part, const char *name,
                      struct buf *to, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    size_t before = to->length;
    struct error problem = {0};
    char actual[HASH_HEX_SIZE];
    const char *expected;
    int r = kube_object_get(task, parts[part].kind, name, false, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT, "%s %s/%s is missing",
                       parts[part].kind->kind, task->store->namespace_name, name);
    if (r < 0)
        return err_copy(error, &problem);
    r = kube_object_bytes(task->store, object, parts[part].kind->kind, parts[part].field, KEY_BYTES,
                          to, error);
    if (r == 0 && part == PART_SECRET)
        r = key_read(task, object, name, head, error);
    if (r < 0)
        return r;
    checksum(part == PART_SECRET ? head->key : NULL, to->data + before, to->length - before,
             actual);
    expected = value_string(value_path(object, "metadata", "annotations", CHECKSUM, NULL));
    if (!expected || str_equal(actual, expected))
        return 0;
    return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT,
                   "%s %s/%s is damaged: it does not match its checksum", parts[part].kind->kind,
                   task->store->namespace_name, name);
}

static int chunks_read(const struct task *task, const struct document_file *file, struct head *head,
                       enum part part, struct buf *to, struct error *error)
{
    _cleanup_free_ char *stem = stem_of(file, head, part);
    int64_t count = kube_head_chunks(head, part);
    int r = 0;

    for (int64_t i = 0; i < count && r == 0; i++) {
        _cleanup_free_ char *name = str_printf("%s%lld", stem, (long long)i);

        r = chunk_read(task, head, part, name, to, error);
    }
    return r;
}

int kube_part_read(const struct task *task, const struct document_file *file, struct head *head,
                   const struct value *object, enum part part, struct buf *to, struct error *error)
{
    const char *expected = head->fields[parts[part].checksum];
    char actual[HASH_HEX_SIZE];
    int r;

    if (!expected && part == PART_SECRET)
        return 0;
    if (!expected || kube_head_chunks(head, part) < 0)
        return kube_head_corrupt(file, "it does not say what there is", error);
    if (kube_head_is_inline(head, part))
        r = kube_object_bytes(task->store, object, "ConfigMap", "binaryData",
                              document_kind_name(file->name.kind), to, error);
    else
        r = chunks_read(task, file, head, part, to, error);
    if (r < 0)
        return r;
    checksum(part == PART_SECRET ? head->key : NULL, to->data, to->length, actual);
    if (str_equal(actual, expected) && !buf_overflowed(to))
        return 0;
    return kube_head_corrupt(file,
                             kube_head_is_inline(head, part)
                                 ? "what it holds does not match its checksum"
                                 : "its chunks, or it itself, are: their checksums differ",
                             error);
}

/* ---- Writing ---- */

/* key: of a secret chunk; else NULL. */
static const struct value *chunk_body(const struct document_file *file, enum part part,
                                      const char *name, const char *tag, const char *key,
                                      const char *bytes, size_t length)
{
    static const char *const at[] = {"annotations", CHECKSUM};
    _cleanup_value_ const struct value *metadata = NULL, *text = NULL;
    _cleanup_buf_ struct buf encoded = BUF_INIT, encoded_key = BUF_INIT;
    char own[HASH_HEX_SIZE];

    base64_encode(&encoded, bytes, length);
    if (key)
        base64_encode(&encoded_key, key, strlen(key));
    checksum(key, bytes, length, own);
    metadata = kube_object_metadata(file, name, tag, NULL);
    text = value_pack("s", own);
    return value_pack("{s:s, s:s, s:V, s:b, s:{s:s, s:s?}}", "apiVersion", "v1", "kind",
                      parts[part].kind->kind, "metadata", value_with_path(metadata, at, 2, text),
                      "immutable", 1, parts[part].field, KEY_BYTES, encoded.data, KEY_KEY,
                      key ? encoded_key.data : NULL);
}

static int chunks_write(const struct task *task, const struct document_file *file, enum part part,
                        const struct head *head, const struct buf *bytes, struct error *error)
{
    _cleanup_free_ char *stem = stem_of(file, head, part);
    int r = 0;

    for (size_t i = 0, at = 0; at < bytes->length && r == 0; i++, at += LIMIT_CHUNK_BYTES) {
        _cleanup_free_ char *name = str_printf("%s%zu", stem, i);
        size_t rest = bytes->length - at;
        _cleanup_value_ const struct value *body = chunk_body(
            file, part, name, head->fields[parts[part].tag], part == PART_SECRET ? head->key : NULL,
            bytes->data + at, rest < LIMIT_CHUNK_BYTES ? rest : LIMIT_CHUNK_BYTES);

        r = kube_object_swap(task,
                             &(struct swap){"POST", parts[part].kind, name, body, NULL,
                                            head->fields[parts[part].tag], file->head_name},
                             NULL, error);
        if (r < 0)
            err_wrap(error, "writing %s %s/%s", parts[part].kind->plural,
                     task->store->namespace_name, name);
    }
    return r;
}

/* Sets a part's fields in the head. */
static void set_part(struct head *head, enum part part, const char *checksum_of_part, size_t chunks,
                     const char *tag)
{
    _cleanup_free_ char *count = str_printf("%zu", chunks);

    kube_head_set(head, parts[part].checksum, checksum_of_part);
    kube_head_set(head, parts[part].chunks, checksum_of_part ? count : NULL);
    kube_head_set(head, parts[part].tag, tag);
    if (chunks)
        kube_head_set(head, HEAD_CHUNKED, "true");
}

/* The head that was read has chunks of these bytes: the new head names them, too. Secret chunks
 * whose key was not read are written again. */
static bool keep_chunks(const struct document_file *file, enum part part, const struct buf *bytes,
                        struct head *head)
{
    const struct head *seen = &file->seen;
    const char *key = part == PART_SECRET ? seen->key : NULL;
    int64_t chunks = kube_head_chunks(seen, part);
    char actual[HASH_HEX_SIZE];

    if (file->is_damaged || chunks <= 0 || (part == PART_SECRET && !key))
        return false;
    checksum(key, bytes->data, bytes->length, actual);
    if (!str_equal(actual, seen->fields[parts[part].checksum]))
        return false;
    set_part(head, part, actual, (size_t)chunks, seen->fields[parts[part].tag]);
    if (key)
        head->key = str_new(key);
    return true;
}

/* 0: it is empty, or goes into the head itself. */
static size_t count_chunks(enum part part, const struct buf *bytes)
{
    size_t chunks = (bytes->length + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;

    return part == PART_OPEN && chunks == 1 ? 0 : chunks;
}

bool kube_part_has_chunks(enum part part, const struct buf *bytes)
{
    return count_chunks(part, bytes);
}

int kube_part_write(const struct task *task, const struct document_file *file, enum part part,
                    const struct buf *bytes, struct head *head, struct error *error)
{
    size_t chunks = count_chunks(part, bytes);
    char own[HASH_HEX_SIZE], tag[TAG_SIZE];

    if (chunks > LIMIT_CHUNKS)
        return err_set(error, ERR_TOO_LARGE, NULL, "a document of %zu bytes: at most %u chunks",
                       bytes->length, (unsigned)LIMIT_CHUNKS);
    if (part == PART_SECRET && chunks == 0) {
        set_part(head, part, NULL, 0, NULL);
        return 0;
    }
    if (chunks && keep_chunks(file, part, bytes, head))
        return 0;
    if (part == PART_SECRET)
        head->key = draw_key();
    checksum(part == PART_SECRET ? head->key : NULL, bytes->data, bytes->length, own);
    kube_draw_tag(tag);
    set_part(head, part, own, chunks, chunks ? tag : NULL);
    return chunks ? chunks_write(task, file, part, head, bytes, error) : 0;
}

/* ---- What is left over ---- */

void kube_garbage_done(struct garbage *garbage)
{
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t j = 0; j < garbage->count[i]; j++)
            free(garbage->names[i][j]);
        free(garbage->names[i]);
    }
    *garbage = (struct garbage){0};
}

bool kube_garbage_is_empty(const struct garbage *garbage)
{
    size_t count = 0;

    for (size_t i = 0; i < PARTS; i++)
        count += garbage->count[i];
    return count == 0;
}

void kube_garbage_add(struct garbage *to, enum part part, const char *name)
{
    to->names[part] =
        mem_grow(to->names[part], to->count[part], &to->capacity[part], sizeof(*to->names[part]));
    to->names[part][to->count[part]++] = str_new(name);
}

struct search {
    struct garbage *found;
    enum part part;
    const char *head_name, *keep; /* prefix of the names to keep; NULL: none */
};

static int on_item(void *arg, const struct value *item, struct error *error)
{
    struct search *search = arg;
    const char *name = value_string(value_path(item, "metadata", "name", NULL));

    (void)error;
    if (name && !str_equal(name, search->head_name) &&
        !(search->keep && str_has_prefix(name, search->keep)))
        kube_garbage_add(search->found, search->part, name);
    return 0;
}

static int find_of_part(const struct task *task, const struct document_file *file, enum part part,
                        const struct head *keep, struct garbage *found, struct error *error)
{
    _cleanup_free_ char *selector = str_printf("%s=%s", KUBE_DOCUMENT_LABEL, file->head_name);
    _cleanup_free_ char *stem =
        keep && kube_head_chunks(keep, part) > 0 ? stem_of(file, keep, part) : NULL;
    struct search search = {found, part, file->head_name, stem};
    struct kube_list list = {
        .ref = {parts[part].kind, task->store->namespace_name, NULL, NULL},
        .selector = {.labels = selector},
        .metadata_only = true,
        .wait = {&system_clock, task->deadline, NULL},
        .on_item = on_item,
        .arg = &search,
    };

    return kube_list(task->store->client, &list, NULL, error);
}

int kube_garbage_find(const struct task *task, const struct document_file *file,
                      const struct head *keep, struct garbage *ret, struct error *error)
{
    struct garbage found = {0};
    int r = 0;

    for (int part = 0; part < PARTS && r == 0; part++)
        r = find_of_part(task, file, (enum part)part, keep, &found, error);
    if (r < 0) {
        kube_garbage_done(&found);
        return r;
    }
    *ret = found;
    return 0;
}

void kube_garbage_add_chunks(const struct document_file *file, const struct head *of,
                             const struct head *keep, struct garbage *to)
{
    for (int i = 0; i < PARTS; i++) {
        enum part part = (enum part)i;
        int64_t count = kube_head_chunks(of, part);
        _cleanup_free_ char *stem = stem_of(file, of, part), *kept = NULL;

        if (keep && kube_head_chunks(keep, part) > 0)
            kept = stem_of(file, keep, part);
        for (int64_t k = 0; k < count && !str_equal(stem, kept); k++) {
            _cleanup_free_ char *name = str_printf("%s%lld", stem, (long long)k);

            kube_garbage_add(to, part, name);
        }
    }
}

int kube_garbage_remove(const struct task *task, const struct garbage *garbage, struct error *error)
{
    int r = 0;

    for (int part = 0; part < PARTS; part++)
        for (size_t i = 0; i < garbage->count[part] && r == 0; i++)
            r = kube_object_delete(task, parts[part].kind, garbage->names[part][i], error);
    return r;
}
