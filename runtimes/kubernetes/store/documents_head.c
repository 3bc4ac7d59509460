/* The head of a document: documents_private.h. */
#include "engine/base/base64.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define FORMAT   "2"
#define KEY_SELF "headChecksum" /* checksum of the head's other fields */

static const char *const keys[HEAD_FIELDS] = {
    [HEAD_FORMAT] = "format",
    [HEAD_CHECKSUM] = "checksum",
    [HEAD_CHUNKS] = "chunks",
    [HEAD_TAG] = "tag",
    [HEAD_SECRET_CHECKSUM] = "secretChecksum",
    [HEAD_SECRET_CHUNKS] = "secretChunks",
    [HEAD_SECRET_TAG] = "secretTag",
    [HEAD_CHUNKED] = "chunked",
    [HEAD_JOURNAL] = "journal",
    [HEAD_REMOVED] = "removed",
};

void kube_head_done(struct head *head)
{
    free(head->version);
    free(head->key);
    for (size_t i = 0; i < HEAD_FIELDS; i++)
        free(head->fields[i]);
    *head = (struct head){0};
}

void kube_head_set(struct head *head, enum head_field field, const char *value)
{
    free(head->fields[field]);
    head->fields[field] = str_new(value);
}

void kube_head_init(struct head *head)
{
    *head = (struct head){0};
    kube_head_set(head, HEAD_FORMAT, FORMAT);
}

void kube_head_copy(struct head *to, const struct head *from)
{
    struct head copy = {.version = str_new(from->version), .key = str_new(from->key)};

    for (size_t i = 0; i < HEAD_FIELDS; i++)
        copy.fields[i] = str_new(from->fields[i]);
    kube_head_done(to);
    *to = copy;
}

int64_t kube_head_chunks(const struct head *head, enum part part)
{
    const char *text = head->fields[part == PART_OPEN ? HEAD_CHUNKS : HEAD_SECRET_CHUNKS];
    int64_t count = 0;

    if (!text)
        return 0;
    return str_to_int64(text, &count) && count >= 0 && count <= LIMIT_CHUNKS ? count : -1;
}

bool kube_head_exists(const struct head *head)
{
    return head->version && !head->fields[HEAD_REMOVED];
}

bool kube_head_is_inline(const struct head *head, enum part part)
{
    return part == PART_OPEN && kube_head_chunks(head, part) == 0;
}

int kube_head_corrupt(const struct document_file *file, const char *how, struct error *error)
{
    const struct documents *store = (const struct documents *)file->base.store;

    return err_set(error, ERR_CORRUPT, DOCUMENT_CORRUPT, "ConfigMap %s/%s is damaged: %s",
                   store->namespace_name, file->head_name, how);
}

static void checksum(const struct document_file *file, const struct head *head,
                     char ret[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    hash_add_str(hash, file->head_name);
    for (size_t i = 0; i < HEAD_FIELDS; i++)
        if (head->fields[i]) {
            hash_add_str(hash, keys[i]);
            hash_add_str(hash, head->fields[i]);
        }
    hash_finish_hex(hash, ret);
}

int kube_head_parse(const struct document_file *file, const struct value *object, struct head *ret,
                    struct error *error)
{
    const struct value *data = value_get(object, "data");
    struct head head = {.version = str_new(kube_version_of(object))};
    char actual[HASH_HEX_SIZE];
    int r = 0;

    for (size_t i = 0; i < HEAD_FIELDS; i++)
        head.fields[i] = str_new(value_get_string(data, keys[i]));
    checksum(file, &head, actual);
    if (head.fields[HEAD_FORMAT] && !str_equal(head.fields[HEAD_FORMAT], FORMAT))
        r = kube_head_corrupt(file, "it is of another version's format", error);
    else if (!str_equal(value_get_string(data, KEY_SELF), actual))
        r = kube_head_corrupt(file, "what it says does not match its checksum", error);
    if (r < 0) {
        kube_head_done(&head);
        return r;
    }
    *ret = head;
    return 0;
}

static void add_fields(struct value_builder *builder, const struct document_file *file,
                       const struct head *head)
{
    char self[HASH_HEX_SIZE];

    value_begin_object(builder);
    for (size_t i = 0; i < HEAD_FIELDS; i++)
        if (head->fields[i]) {
            value_key(builder, keys[i]);
            value_add_string(builder, head->fields[i]);
        }
    checksum(file, head, self);
    value_key(builder, KEY_SELF);
    value_add_string(builder, self);
    value_end_object(builder);
}

static const struct value *fields_value(const struct document_file *file, const struct head *head)
{
    _cleanup_(value_builder_free_p) struct value_builder *builder = value_builder_new();

    add_fields(builder, file, head);
    return value_finish(builder);
}

const struct value *kube_head_body(const struct document_file *file, const struct head *head,
                                   const struct buf *open, const char *tag, const char *version)
{
    _cleanup_value_ const struct value *bytes = NULL, *data = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    data = fields_value(file, head);
    if (kube_head_is_inline(head, PART_OPEN) && open->length) {
        base64_encode(&text, open->data, open->length);
        bytes = value_pack("{s:s}", document_kind_name(file->name.kind), text.data);
    }
    return value_pack("{s:s, s:s, s:V, s:v, s:v?}", "apiVersion", "v1", "kind", "ConfigMap",
                      "metadata", kube_object_metadata(file, file->head_name, tag, version), "data",
                      data, "binaryData", bytes);
}

const struct value *kube_head_patch(const struct document_file *file, const struct head *head,
                                    const char *tag, const char *version)
{
    return value_pack("{s:V, s:V}", "metadata",
                      kube_object_metadata(file, file->head_name, tag, version), "data",
                      fields_value(file, head));
}
