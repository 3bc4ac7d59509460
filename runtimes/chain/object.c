/*
 * An object of a chain, as bytes: private.h. Lines of text, then the two sections:
 *
 *     kusion object 1
 *     kind state
 *     namespace team
 *     name web
 *     item web-1                (if it has one)
 *     number 0207840000000001
 *     written 1796000000000     (ms since 1970, by the writer's clock)
 *     id 32 hexadecimal digits
 *     before ID                 (of the object before it, and before that: up to ANCESTORS)
 *     open LENGTH SHA256        (or in place of both: "removed yes", "removed closed")
 *     secret LENGTH SHA256
 *     checksum SHA256           (of the lines before it)
 *
 * Names are escaped (key.c). The sections follow the last line at once.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/chain/private.h"

#define FIRST_LINE "kusion object 1\n"
#define CHECKSUM   "checksum "
/* Names of 63 and two times 253 bytes, escaped; ids; digests: about 3 KiB. */
#define HEAD_BYTES 8192

void object_head_done(struct object_head *head)
{
    own_name_done(&head->name);
    *head = (struct object_head){0};
}

/* ---- Writing ---- */

static void add_word(struct buf *to, const char *key, const char *text)
{
    _cleanup_free_ char *word = chain_word(text);

    buf_printf(to, "%s %s\n", key, word);
}

static void add_section(struct buf *to, const char *key, const struct buf *bytes)
{
    char checksum[HASH_HEX_SIZE];

    hash_hex(bytes->data, bytes->length, checksum);
    buf_printf(to, "%s %zu %s\n", key, bytes->length, checksum);
}

void object_write(struct buf *to, const struct document_name *name, const struct object_head *head,
                  const struct document *document)
{
    char checksum[HASH_HEX_SIZE];

    if (document)
        buf_reserve(to, document->open.length + document->secret.length + HEAD_BYTES);
    buf_printf(to, FIRST_LINE "kind %s\n", document_kind_name(name->kind));
    add_word(to, "namespace", name->spec.namespace_name);
    add_word(to, "name", name->spec.name);
    if (name->item)
        add_word(to, "item", name->item);
    buf_printf(to, "number %" PRId64 "\nwritten %" PRId64 "\nid %s\n", head->number, head->written,
               head->id);
    for (size_t i = 0; i < head->n_ancestors; i++)
        buf_printf(to, "before %s\n", head->ancestors[i]);
    if (document) {
        add_section(to, "open", &document->open);
        add_section(to, "secret", &document->secret);
    } else {
        buf_printf(to, "removed %s\n", head->is_closed ? "closed" : "yes");
    }
    hash_hex(to->data, to->length, checksum);
    buf_printf(to, CHECKSUM "%s\n", checksum);
    if (document) {
        buf_add(to, document->open.data, document->open.length);
        buf_add(to, document->secret.data, document->secret.length);
    }
}

/* ---- Reading ---- */

/* The lines up to the checksum, which must be theirs; "": damaged. *ret_length: with that line. */
static char *read_lines(const struct buf *object, size_t *ret_length)
{
    size_t most = object->length < HEAD_BYTES ? object->length : HEAD_BYTES;
    const char *line = object->data, *end = object->data + most, *stop;
    char checksum[HASH_HEX_SIZE];

    if (memchr(object->data, '\0', most))
        end = memchr(object->data, '\0', most);
    for (; (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
        size_t length = (size_t)(line - object->data);

        if (!str_has_prefix(line, CHECKSUM))
            continue;
        hash_hex(object->data, length, checksum);
        if ((size_t)(stop - line) != strlen(CHECKSUM) + HASH_HEX_SIZE - 1 ||
            memcmp(line + strlen(CHECKSUM), checksum, HASH_HEX_SIZE - 1) != 0)
            return NULL;
        *ret_length = (size_t)(stop + 1 - object->data);
        return str_new_n(object->data, length);
    }
    return NULL;
}

static bool is_id(const char *text)
{
    return strlen(text) == ID_SIZE - 1 && text[strspn(text, "0123456789abcdef")] == '\0';
}

static bool parse_section(const char *rest, size_t *ret_length, char ret_checksum[HASH_HEX_SIZE])
{
    const char *space = strchr(rest, ' ');
    _cleanup_free_ char *number = space ? str_new_n(rest, (size_t)(space - rest)) : NULL;
    int64_t length;

    if (!number || !str_to_int64(number, &length) || length < 0 || !hash_is_hex(space + 1))
        return false;
    *ret_length = (size_t)length;
    str_copy(ret_checksum, HASH_HEX_SIZE, space + 1);
    return true;
}

static bool parse_word(const char *rest, char **to)
{
    free(*to);
    *to = chain_unword(rest);
    return *to && **to;
}

static bool parse_line(const char *key, const char *rest, struct object_head *head)
{
    if (str_equal(key, "kind"))
        return document_kind_parse(rest, &head->name.name.kind);
    if (str_equal(key, "namespace"))
        return parse_word(rest, &head->name.namespace_name);
    if (str_equal(key, "name"))
        return parse_word(rest, &head->name.spec_name);
    if (str_equal(key, "item"))
        return parse_word(rest, &head->name.item);
    if (str_equal(key, "number"))
        return str_to_int64(rest, &head->number) && head->number > 0;
    if (str_equal(key, "written"))
        return str_to_int64(rest, &head->written);
    if (str_equal(key, "id"))
        return is_id(rest) && str_copy(head->id, ID_SIZE, rest);
    if (str_equal(key, "before"))
        return is_id(rest) && head->n_ancestors < ANCESTORS &&
               str_copy(head->ancestors[head->n_ancestors++], ID_SIZE, rest);
    if (str_equal(key, "open"))
        return parse_section(rest, &head->open.length, head->open.checksum);
    if (str_equal(key, "secret"))
        return parse_section(rest, &head->secret.length, head->secret.checksum);
    if (str_equal(key, "removed")) {
        head->is_closed = str_equal(rest, "closed");
        return head->is_removed = head->is_closed || str_equal(rest, "yes");
    }
    return false;
}

static bool parse_lines(char *text, struct object_head *head)
{
    if (!str_has_prefix(text, FIRST_LINE))
        return false;
    for (char *line = text + strlen(FIRST_LINE), *stop; *line; line = stop + 1) {
        char *space = strchr(line, ' ');

        stop = strchr(line, '\n');
        if (!space || !stop || space > stop)
            return false;
        *space = *stop = '\0';
        if (!parse_line(line, space + 1, head))
            return false;
    }
    return head->name.namespace_name && head->name.spec_name && head->number && *head->id &&
           head->is_removed != (*head->open.checksum && *head->secret.checksum);
}

bool object_head_parse(const struct buf *object, struct object_head *ret)
{
    struct object_head head = {0};
    _cleanup_free_ char *text = read_lines(object, &head.length);

    if (!text || !parse_lines(text, &head)) {
        object_head_done(&head);
        return false;
    }
    own_name_set(&head.name, head.name.name.kind);
    *ret = head;
    return true;
}

static bool take_section(const struct buf *object, size_t at, size_t length, const char *checksum,
                         struct buf *to)
{
    char actual[HASH_HEX_SIZE];

    if (at > object->length || object->length - at < length)
        return false;
    hash_hex(object->data + at, length, actual);
    if (!str_equal(actual, checksum))
        return false;
    buf_add(to, object->data + at, length);
    return !buf_overflowed(to);
}

const char *object_sections(const struct buf *object, const struct object_head *head,
                            struct document *ret)
{
    size_t secret_at;

    if (!take_section(object, head->length, head->open.length, head->open.checksum, &ret->open))
        return "the open section";
    secret_at = head->length + head->open.length;
    if (!take_section(object, secret_at, head->secret.length, head->secret.checksum,
                      &ret->secret) ||
        secret_at + head->secret.length != object->length)
        return "the secret section";
    return NULL;
}
