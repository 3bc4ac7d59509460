#include "engine/base/limits.h"
#include "runtimes/terraform/values/msgpack.h"
#include "runtimes/terraform/values/set.h"
#include "runtimes/terraform/values/values.h"

struct reordering {
    struct msgpack_reader reader;
    size_t depth;
    struct error *error;
};

static int reorder(struct reordering *reordering, const struct tf_type *type, struct buf *to);

static int bad(const struct reordering *reordering)
{
    return err_set(reordering->error, ERR_INVALID, "ProviderFailed",
                   "a value of the provider cannot be read: it is cut off, or not of its type");
}

static int reorder_set(struct reordering *reordering, const struct tf_type *type, size_t count,
                       struct buf *to)
{
    _cleanup_(tf_set_done) struct tf_set set;
    int r = 0;

    tf_set_init(&set, type->element);
    for (size_t i = 0; i < count && r >= 0; i++) {
        _cleanup_buf_ struct buf bytes = BUF_INIT;
        const struct value *value = NULL;

        r = reorder(reordering, type->element, &bytes);
        if (r >= 0)
            r = tf_decode(bytes.data, bytes.length, type->element, TF_PLAIN, &value,
                          reordering->error);
        if (r >= 0) {
            struct tf_element *added = tf_set_add(&set, value);

            buf_add(&added->bytes, bytes.data, bytes.length);
        }
    }
    if (r < 0)
        return r;
    tf_set_sort(&set);
    msgpack_add_array(to, set.count);
    for (size_t i = 0; i < set.count; i++)
        buf_add(to, set.elements[i].bytes.data, set.elements[i].bytes.length);
    return 0;
}

static int reorder_members(struct reordering *reordering, const struct tf_type *type, size_t count,
                           struct buf *to)
{
    int r = 0;

    for (size_t i = 0; i < count && r >= 0; i++) {
        const struct tf_type *of = type->element ? type->element : &tf_dynamic;
        const unsigned char *from = reordering->reader.at;
        struct msgpack_item key;

        if (!msgpack_read(&reordering->reader, &key))
            return bad(reordering);
        buf_add(to, from, (size_t)(reordering->reader.at - from));
        if (type->kind == TF_OBJECT)
            of = key.type == MSGPACK_STRING ? tf_type_member(type, key.data, key.length) : NULL;
        r = of ? reorder(reordering, of, to) : bad(reordering);
    }
    return r;
}

/* What is in a dynamic value stays as it is. */
static int reorder_items(struct reordering *reordering, const struct tf_type *type, size_t count,
                         struct buf *to)
{
    int r = 0;

    if (type->kind == TF_TUPLE && count != type->n_members)
        return bad(reordering);
    for (size_t i = 0; i < count && r >= 0; i++)
        r = reorder(reordering,
                    type->element     ? type->element
                    : type->n_members ? type->members[i].type
                                      : &tf_dynamic,
                    to);
    return r;
}

static int reorder(struct reordering *reordering, const struct tf_type *type, struct buf *to)
{
    const unsigned char *from = reordering->reader.at;
    struct msgpack_item item;
    bool is_set;
    int r = 0;

    if (++reordering->depth > 2 * LIMIT_DEPTH || !msgpack_read(&reordering->reader, &item))
        return bad(reordering);
    is_set = item.type == MSGPACK_ARRAY && type->kind == TF_SET;
    if (!is_set) /* which may have fewer elements afterwards */
        buf_add(to, from, (size_t)(reordering->reader.at - from));
    if (is_set)
        r = reorder_set(reordering, type, item.length, to);
    else if (item.type == MSGPACK_MAP)
        r = reorder_members(reordering, type, item.length, to);
    else if (item.type == MSGPACK_ARRAY)
        r = reorder_items(reordering, type, item.length, to);
    reordering->depth--;
    return r;
}

int tf_reorder(struct buf *bytes, const struct tf_type *type, struct error *error)
{
    _cleanup_buf_ struct buf ordered = BUF_INIT;
    struct reordering reordering = {
        .reader = {.at = (const unsigned char *)bytes->data,
                   .end = (const unsigned char *)bytes->data + bytes->length},
        .error = error,
    };
    int r = reorder(&reordering, type, &ordered);

    if (r < 0)
        return r;
    buf_reset(bytes);
    buf_add(bytes, ordered.data, ordered.length);
    return 0;
}
