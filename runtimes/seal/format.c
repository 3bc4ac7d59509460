/* Writes and reads sealed parts: format.h. */
#include "runtimes/seal/format.h"

#include <openssl/crypto.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define VERSION 1

static const unsigned char mark[SEAL_MARK_SIZE] = {0x93, 'K', 'U', 'S', 'E', 'A', 'L', VERSION};
static const unsigned char end_mark[SEAL_MARK_SIZE] = {VERSION, 'L', 'A', 'E', 'S', 'U', 'K', 0x93};

#define FLAG_OPEN_IS_SEALED 1

/* ---- Numbers and fields ---- */

static void add_number(struct buf *to, uint64_t number, unsigned size)
{
    for (unsigned shift = 8 * size; shift > 0; shift -= 8)
        buf_add_char(to, (char)(number >> (shift - 8)));
}

/* Every such field is bounded: a source's by source.h, a name's by Kubernetes. */
static void add_field(struct buf *to, const void *bytes, size_t length)
{
    add_number(to, length, 2);
    buf_add(to, bytes, length);
}

struct reader {
    const unsigned char *at;
    size_t left;
    bool failed; /* it wanted more than there is */
};

static const unsigned char *read_bytes(struct reader *reader, size_t length)
{
    const unsigned char *at = reader->at;

    if (length > reader->left) {
        reader->failed = true;
        return NULL;
    }
    reader->at += length;
    reader->left -= length;
    return at;
}

static uint64_t read_number(struct reader *reader, unsigned size)
{
    const unsigned char *bytes = read_bytes(reader, size);
    uint64_t number = 0;

    for (unsigned i = 0; bytes && i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static const unsigned char *read_field(struct reader *reader, size_t *ret_length)
{
    *ret_length = (size_t)read_number(reader, 2);
    return read_bytes(reader, *ret_length);
}

/* NULL: it is missing, or has a NUL. */
static char *read_text(struct reader *reader)
{
    size_t length;
    const unsigned char *bytes = read_field(reader, &length);

    if (!bytes || memchr(bytes, '\0', length)) {
        reader->failed = true;
        return NULL;
    }
    return str_new_n((const char *)bytes, length);
}

/* ---- Blocks ---- */

void seal_block_write(struct buf *to, const struct seal_wrapped *wrapped)
{
    add_field(to, wrapped->provider, strlen(wrapped->provider));
    add_field(to, wrapped->key_id, strlen(wrapped->key_id));
    add_field(to, wrapped->bytes.data, wrapped->bytes.length);
    add_number(to, wrapped->n_annotations, 2);
    for (size_t i = 0; i < wrapped->n_annotations; i++) {
        const struct seal_annotation *annotation = &wrapped->annotations[i];

        add_field(to, annotation->name, strlen(annotation->name));
        add_field(to, annotation->value.data, annotation->value.length);
    }
}

static void read_annotation(struct reader *reader, struct seal_annotation *ret)
{
    const unsigned char *value;
    size_t length;

    ret->name = read_text(reader);
    buf_init(&ret->value, 0);
    value = read_field(reader, &length);
    if (value)
        buf_add(&ret->value, value, length);
}

bool seal_block_read(const void *bytes, size_t length, struct seal_wrapped *ret)
{
    struct reader reader = {bytes, length, false};
    const unsigned char *wrapped;
    size_t wrapped_length, n;

    ret->provider = read_text(&reader);
    ret->key_id = read_text(&reader);
    wrapped = read_field(&reader, &wrapped_length);
    if (wrapped)
        buf_add(&ret->bytes, wrapped, wrapped_length);
    n = (size_t)read_number(&reader, 2);
    if (reader.failed || n > reader.left / 4)
        return false;
    ret->annotations = NEW_ARRAY(struct seal_annotation, n);
    ret->n_annotations = n;
    for (size_t i = 0; i < n; i++)
        read_annotation(&reader, &ret->annotations[i]);
    return !reader.failed && reader.left == 0;
}

void seal_wrapped_done(struct seal_wrapped *wrapped)
{
    free(TAKE(wrapped->provider));
    free(TAKE(wrapped->key_id));
    buf_done(&wrapped->bytes);
    for (size_t i = 0; i < wrapped->n_annotations; i++) {
        free(wrapped->annotations[i].name);
        buf_done(&wrapped->annotations[i].value);
    }
    free(TAKE(wrapped->annotations));
    wrapped->n_annotations = 0;
}

/* ---- Parts ---- */

static void add_place(struct buf *to, const struct seal_place *place)
{
    const struct document_name *name = place->name;
    const char *kind = document_kind_name(name->kind);

    add_number(to, place->number, 8);
    add_field(to, kind, strlen(kind));
    add_field(to, name->spec.namespace_name, strlen(name->spec.namespace_name));
    add_field(to, name->spec.name, strlen(name->spec.name));
    buf_add_char(to, name->item ? 1 : 0);
    if (name->item)
        add_field(to, name->item, strlen(name->item));
}

static void add_head(struct buf *to, const struct buf *block, enum seal_part part,
                     const struct seal_content *content)
{
    buf_add(to, mark, sizeof(mark));
    buf_add_char(to, (char)part);
    buf_add_char(to, content->open_is_sealed ? FLAG_OPEN_IS_SEALED : 0);
    add_field(to, block->data, block->length);
    buf_add(to, content->random, SEAL_RANDOM_SIZE);
    buf_add(to, content->write, SEAL_WRITE_SIZE);
    if (part != SEAL_SECRET_PART)
        return;
    buf_add(to, content->open_hash, HASH_SIZE);
    add_number(to, content->n_carried, 4);
    for (size_t i = 0; i < content->n_carried; i++)
        add_number(to, content->carried[i].length, 8);
}

void seal_format_write(struct buf *to, const unsigned char seed[SEAL_SEED_SIZE],
                       const struct buf *block, const struct seal_place *place,
                       const struct seal_content *content)
{
    _cleanup_buf_ struct buf beside = BUF_INIT;
    _cleanup_(cipher_free_p) struct cipher *cipher = NULL;
    unsigned char tag[SEAL_TAG_SIZE];
    size_t start = to->length, length = content->length;

    for (size_t i = 0; i < content->n_carried; i++)
        length += content->carried[i].length;
    add_head(to, block, place->part, content);
    if (buf_overflowed(to))
        return;
    buf_add(&beside, to->data + start, to->length - start);
    add_place(&beside, place);
    buf_reserve(to, length + SEAL_TAG_SIZE + SEAL_MARK_SIZE);
    cipher = cipher_new(seed, content->random, CIPHER_SEAL);
    cipher_beside(cipher, beside.data, beside.length);
    cipher_add(cipher, to, content->bytes, content->length);
    for (size_t i = 0; i < content->n_carried; i++)
        cipher_add(cipher, to, content->carried[i].data, content->carried[i].length);
    cipher_tag(cipher, tag);
    buf_add(to, tag, sizeof(tag));
    buf_add(to, end_mark, sizeof(end_mark));
}

bool seal_format_has_mark(const struct buf *part)
{
    return part->length >= SEAL_MARK_SIZE &&
           (memcmp(part->data, mark, SEAL_MARK_SIZE) == 0 ||
            memcmp(part->data + part->length - SEAL_MARK_SIZE, end_mark, SEAL_MARK_SIZE) == 0);
}

static int refuse(const char *how, struct error *error)
{
    return err_set(error, ERR_CORRUPT, "StateCorrupt", "%s", how);
}

static int check_marks(const struct buf *bytes, struct error *error)
{
    size_t same = SEAL_MARK_SIZE - 1; /* without the version */

    if (bytes->length >= SEAL_MARK_SIZE && memcmp(bytes->data, mark, same) == 0 &&
        (unsigned char)bytes->data[same] > VERSION)
        return err_set(error, ERR_UNSUPPORTED, NULL,
                       "it is sealed in the format %u, which a later version of the operator reads",
                       (unsigned)(unsigned char)bytes->data[same]);
    if (bytes->length < 2 * SEAL_MARK_SIZE || memcmp(bytes->data, mark, SEAL_MARK_SIZE) != 0)
        return refuse("it does not begin as a sealed part does", error);
    if (memcmp(bytes->data + bytes->length - SEAL_MARK_SIZE, end_mark, SEAL_MARK_SIZE) != 0)
        return refuse("it does not end as a sealed part does: it was cut", error);
    return 0;
}

/* How much of the content the carried entries take. False: more than there is. */
static bool check_carried(const struct seal_view *view)
{
    struct reader lengths = {view->carried_lengths, view->n_carried * 8, false};
    size_t left = view->content_length;

    for (size_t i = 0; i < view->n_carried; i++) {
        uint64_t length = read_number(&lengths, 8);

        if (length > left)
            return false;
        left -= (size_t)length;
    }
    return true;
}

int seal_format_view(const struct buf *bytes, enum seal_part part, struct seal_view *ret,
                     struct error *error)
{
    struct seal_view view = {.bytes = (const unsigned char *)bytes->data, .length = bytes->length};
    struct reader reader;
    uint64_t flags;
    int r = check_marks(bytes, error);

    if (r < 0)
        return r;
    reader = (struct reader){view.bytes + SEAL_MARK_SIZE, view.length - 2 * SEAL_MARK_SIZE, false};
    if (read_number(&reader, 1) != part)
        return refuse("it is another part of a document", error);
    flags = read_number(&reader, 1);
    view.open_is_sealed = flags == FLAG_OPEN_IS_SEALED;
    view.block = read_field(&reader, &view.block_length);
    view.random = read_bytes(&reader, SEAL_RANDOM_SIZE);
    view.write = read_bytes(&reader, SEAL_WRITE_SIZE);
    if (part == SEAL_SECRET_PART) {
        view.open_hash = read_bytes(&reader, HASH_SIZE);
        view.n_carried = (size_t)read_number(&reader, 4);
        view.carried_lengths = read_bytes(&reader, view.n_carried * 8);
    }
    if (reader.failed || reader.left < SEAL_TAG_SIZE ||
        flags > (part == SEAL_SECRET_PART ? FLAG_OPEN_IS_SEALED : 0))
        return refuse("its head cannot be read", error);
    view.content = reader.at;
    view.content_length = reader.left - SEAL_TAG_SIZE;
    if (!check_carried(&view))
        return refuse("its head cannot be read", error);
    *ret = view;
    return 0;
}

bool seal_format_open(const struct seal_view *view, const unsigned char seed[SEAL_SEED_SIZE],
                      const struct seal_place *place, struct buf *ret, struct buf *entries)
{
    _cleanup_buf_ struct buf beside = BUF_INIT;
    _cleanup_(cipher_free_p) struct cipher *cipher = cipher_new(seed, view->random, CIPHER_OPEN);
    struct reader lengths = {view->carried_lengths, view->n_carried * 8, false};
    const unsigned char *at = view->content, *end = at + view->content_length;
    size_t carried = 0;
    bool is_right;

    for (size_t i = 0; i < view->n_carried; i++)
        carried += (size_t)read_number(&lengths, 8);
    buf_add(&beside, view->bytes, (size_t)(view->content - view->bytes));
    add_place(&beside, place);
    cipher_beside(cipher, beside.data, beside.length);
    cipher_add(cipher, ret, at, view->content_length - carried);
    at += view->content_length - carried;
    lengths = (struct reader){view->carried_lengths, view->n_carried * 8, false};
    for (size_t i = 0; i < view->n_carried; i++) {
        size_t length = (size_t)read_number(&lengths, 8);

        cipher_add(cipher, &entries[i], at, length);
        at += length;
    }
    is_right = cipher_check(cipher, end);
    for (size_t i = 0; !is_right && i <= view->n_carried; i++) {
        struct buf *buf = i < view->n_carried ? &entries[i] : ret;

        OPENSSL_cleanse(buf->data, buf->length);
        buf_done(buf);
    }
    return is_right;
}
