/* The entries of a document, in a chain of segments: documents.h. */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define SEGMENT_BYTES                                                            \
    (16u << 10) /* a segment of this size is full: the next entry begins another \
                 */
#define MOST_SEGMENTS 256

#define KEY_ENTRIES  "entries"  /* the entries, each as "LENGTH\n" and its bytes */
#define KEY_NEXT     "next"     /* the name of the next segment */
#define KEY_CLOSED   "closed"   /* "true": closed by a write that is about to replace the entries */
#define KEY_CHECKSUM "checksum" /* checksum of the other keys */

static void segments_add(struct segments *segments, const char *name)
{
    segments->names =
        mem_grow(segments->names, segments->count, &segments->capacity, sizeof(*segments->names));
    segments->names[segments->count++] = str_new(name);
}

static void checksum(const char *name, const struct buf *entries, const char *next, bool is_closed,
                     char ret[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    hash_add_str(hash, name);
    hash_add_str(hash, next ? next : "");
    hash_add_str(hash, is_closed ? "closed" : "");
    hash_add(hash, entries->data, entries->length);
    hash_finish_hex(hash, ret);
}

/* ---- Reading ---- */

static int segment_corrupt(const struct task *task, const char *name, const char *how,
                           struct error *error)
{
    return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT, "Secret %s/%s (entries) %s",
                   task->store->namespace_name, name, how);
}

/* Adds the entries of a segment to the document. False: a frame is damaged. */
static bool add_entries(const struct buf *framed, struct document *to)
{
    for (size_t at = 0; at < framed->length;) {
        const char *end = memchr(framed->data + at, '\n', framed->length - at);
        _cleanup_free_ char *text = NULL;
        int64_t length = -1;

        if (!end)
            return false;
        text = str_new_n(framed->data + at, (size_t)(end - framed->data) - at);
        at = (size_t)(end - framed->data) + 1;
        if (!str_to_int64(text, &length) || length < 0 || (size_t)length > framed->length - at)
            return false;
        to->entries = mem_resize(to->entries, to->n_entries + 1, sizeof(struct buf));
        buf_init(&to->entries[to->n_entries], 0);
        buf_add(&to->entries[to->n_entries++], framed->data + at, (size_t)length);
        at += (size_t)length;
    }
    return true;
}

/* *ret_next: the next segment's name; free(). NULL: this is the last. */
static int segment_read(const struct task *task, const char *name, struct segments *segments,
                        struct document *to, char **ret_next, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *next = NULL, *closed = NULL, *expected = NULL;
    struct error problem = {0};
    char actual[HASH_HEX_SIZE];
    int r = kube_object_get(task, &kube_secrets, name, false, &object, &problem);

    if (r == ERR_NOT_FOUND)
        return segment_corrupt(task, name, "is missing", error);
    if (r < 0)
        return err_copy(error, &problem);
    buf_reset(&segments->entries);
    r = kube_object_bytes(task->store, object, "Secret", "data", KEY_ENTRIES, &segments->entries,
                          error);
    if (r < 0)
        return r;
    if (!kube_object_text(object, KEY_NEXT, &next) ||
        !kube_object_text(object, KEY_CLOSED, &closed) ||
        !kube_object_text(object, KEY_CHECKSUM, &expected))
        return segment_corrupt(task, name, "cannot be read", error);
    checksum(name, &segments->entries, next, closed != NULL, actual);
    if (!str_equal(actual, expected) || !add_entries(&segments->entries, to))
        return segment_corrupt(task, name, "is damaged: it does not match its checksum", error);
    segments_add(segments, name);
    free(segments->version);
    segments->version = str_new(kube_version_of(object));
    segments->is_closed = closed != NULL;
    *ret_next = TAKE(next);
    return 0;
}

int kube_journal_read(const struct task *task, const struct document_file *file, const char *first,
                      struct segments *ret, struct document *to, struct error *error)
{
    struct segments segments = {.entries = BUF_INIT};
    _cleanup_free_ char *name = str_new(first);
    int r = 0;

    while (name && r == 0) {
        char *next = NULL;

        if (segments.count > MOST_SEGMENTS)
            r = kube_head_corrupt(file, "its entries have no end", error);
        else
            r = segment_read(task, name, &segments, to, &next, error);
        free(name);
        name = next;
    }
    if (r < 0)
        kube_segments_done(&segments);
    else
        *ret = segments;
    return r;
}

/* ---- Writing ---- */

static void add_text(struct value_builder *builder, const char *key, const void *bytes,
                     size_t length)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    base64_encode(&text, bytes, length);
    value_key(builder, key);
    value_add_string(builder, text.data);
}

static const struct value *segment_data(const char *name, const struct buf *entries,
                                        const char *next, bool is_closed)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();
    char sum[HASH_HEX_SIZE];

    checksum(name, entries, next, is_closed, sum);
    value_begin_object(builder);
    add_text(builder, KEY_ENTRIES, entries->data, entries->length);
    if (next)
        add_text(builder, KEY_NEXT, next, strlen(next));
    if (is_closed)
        add_text(builder, KEY_CLOSED, "true", strlen("true"));
    add_text(builder, KEY_CHECKSUM, sum, strlen(sum));
    value_end_object(builder);
    return value_finish(builder);
}

static const struct value *segment_body(const struct document_file *file, const char *name,
                                        const struct value *data, const char *tag,
                                        const char *version)
{
    return value_pack("{s:s, s:s, s:V, s:v}", "apiVersion", "v1", "kind", "Secret", "metadata",
                      kube_object_metadata(file, name, tag, version), "data", data);
}

/* Swaps the last segment of the chain, and notes its new content in the file. */
static int swap_last(const struct task *task, struct document_file *file, const struct buf *entries,
                     const char *next, bool is_closed, struct error *error)
{
    struct segments *segments = &file->segments;
    const char *name = segments->names[segments->count - 1];
    _cleanup_value_ const struct value *data = segment_data(name, entries, next, is_closed);
    _cleanup_value_ const struct value *body = NULL;
    char *version = NULL, tag[TAG_SIZE];
    int r;

    kube_draw_tag(tag);
    body = segment_body(file, name, data, tag, segments->version);
    r = kube_document_swap(
        task, file, &(struct swap){"PUT", &kube_secrets, name, body, segments->version, tag, NULL},
        &version, error);
    if (r < 0)
        return r;
    free(segments->version);
    segments->version = version;
    segments->is_closed = is_closed;
    return 0;
}

/* Swaps the head alone; `journal` becomes its first segment. */
static int swap_head(const struct task *task, struct document_file *file, const char *journal,
                     struct error *error)
{
    _cleanup_(kube_head_done) struct head head = {0};
    _cleanup_value_ const struct value *body = NULL;
    char *version = NULL, tag[TAG_SIZE];
    int r;

    kube_draw_tag(tag);
    kube_head_copy(&head, &file->seen);
    kube_head_set(&head, HEAD_JOURNAL, journal);
    kube_head_set(&head, HEAD_CHUNKED,
                  "true"); /* if a write is killed, its segments become garbage, too */
    body = kube_head_patch(file, &head, tag, file->seen.version);
    r = kube_document_swap(task, file,
                           &(struct swap){"PATCH", &kube_config_maps, file->head_name, body,
                                          file->seen.version, tag, NULL},
                           &version, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < HEAD_FIELDS; i++)
        kube_head_set(&file->seen, (enum head_field)i, head.fields[i]);
    kube_document_moved(file, version);
    return 0;
}

/* Creates a segment with one entry, which no chain names yet. *ret_version: free(). */
static int segment_create(const struct task *task, const struct document_file *file,
                          const struct buf *entry, char **ret_name, char **ret_version,
                          struct error *error)
{
    _cleanup_value_ const struct value *data = NULL, *body = NULL;
    _cleanup_free_ char *name = NULL;
    char tag[TAG_SIZE];
    int r;

    kube_draw_tag(tag);
    name = str_printf("%s-%s-j", file->head_name, tag);
    data = segment_data(name, entry, NULL, false);
    body = segment_body(file, name, data, tag, NULL);
    r = kube_object_swap(
        task, &(struct swap){"POST", &kube_secrets, name, body, NULL, tag, file->head_name},
        ret_version, error);
    if (r == 0)
        *ret_name = TAKE(name);
    return r;
}

/* Creates a segment, then swaps the one before it (or the head) to name it. */
static int append_segment(const struct task *task, struct document_file *file,
                          const struct buf *entry, struct error *error)
{
    struct segments *segments = &file->segments;
    _cleanup_free_ char *name = NULL, *version = NULL;
    int r;

    if (segments->count >= MOST_SEGMENTS)
        return err_set(error, ERR_TOO_LARGE, NULL,
                       "there is no room for another entry until the document is rewritten");
    r = segment_create(task, file, entry, &name, &version, error);
    if (r < 0)
        return r;
    r = segments->count ? swap_last(task, file, &segments->entries, name, false, error)
                        : swap_head(task, file, name, error);
    if (r < 0) {
        if (r != ERR_UNAVAILABLE && r != ERR_TIMEOUT)
            kube_object_delete(task, &kube_secrets, name, NULL);
        return r;
    }
    segments_add(segments, name);
    buf_reset(&segments->entries);
    buf_add(&segments->entries, entry->data, entry->length);
    free(segments->version);
    segments->version = TAKE(version);
    segments->is_closed = false;
    return 0;
}

int kube_journal_append(const struct task *task, struct document_file *file, const void *bytes,
                        size_t length, struct error *error)
{
    struct segments *segments = &file->segments;
    _cleanup_buf_ struct buf entry = BUF_INIT, entries = BUF_INIT;
    int r;

    if (length > LIMIT_CHUNK_BYTES - 32)
        return err_set(error, ERR_TOO_LARGE, NULL, "an entry of %zu bytes: at most %u", length,
                       LIMIT_CHUNK_BYTES - 32);
    if (segments->is_closed) {
        r = swap_head(task, file, file->seen.fields[HEAD_JOURNAL], error);
        if (r < 0)
            return r;
    }
    buf_printf(&entry, "%zu\n", length);
    buf_add(&entry, bytes, length);
    if (segments->count == 0 || segments->entries.length + entry.length > SEGMENT_BYTES)
        return append_segment(task, file, &entry, error);
    buf_add(&entries, segments->entries.data, segments->entries.length);
    buf_add(&entries, entry.data, entry.length);
    r = swap_last(task, file, &entries, NULL, false, error);
    if (r == 0)
        buf_add(&segments->entries, entry.data, entry.length);
    return r;
}

int kube_journal_close(const struct task *task, struct document_file *file, struct error *error)
{
    /* Without a version the chain is damaged, and nobody can append to it. */
    if (!file->segments.version)
        return 0;
    return swap_last(task, file, &file->segments.entries, NULL, true, error);
}
