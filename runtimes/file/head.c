/* The head of a document, as text: private.h. */
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/file/private.h"

#define FIRST_LINE "kusion document 1"

static const char *const part_names[PARTS] = {"open", "secret"};

void file_head_done(struct head *head)
{
    own_name_done(&head->name);
    *head = (struct head){0};
}

static void add_word(struct buf *to, const char *key, const char *text)
{
    _cleanup_free_ char *word = file_name_escape(text);

    buf_printf(to, "%s %s\n", key, word);
}

void file_head_write(struct buf *to, const struct document_name *name, const struct head *head)
{
    char checksum[HASH_HEX_SIZE];

    buf_reset(to);
    buf_printf(to, FIRST_LINE "\nkind %s\n", document_kind_name(name->kind));
    add_word(to, "namespace", name->spec.namespace_name);
    add_word(to, "name", name->spec.name);
    if (name->item)
        add_word(to, "item", name->item);
    buf_printf(to, "id %s\n", head->id);
    for (size_t i = 0; i < PARTS; i++)
        if (head->parts[i].exists)
            buf_printf(to, "%s %zu %s\n", part_names[i], head->parts[i].length,
                       head->parts[i].checksum);
    if (head->has_journal)
        buf_add_str(to, "journal yes\n");
    hash_hex(to->data, to->length, checksum);
    buf_printf(to, "checksum %s\n", checksum);
}

/* The last line is the checksum of those before it. */
static bool is_whole(const char *text, size_t length)
{
    char checksum[HASH_HEX_SIZE];
    _cleanup_free_ char *last = NULL;
    size_t size = strlen("checksum \n") + HASH_HEX_SIZE - 1;

    if (length < size || memchr(text, '\0', length))
        return false;
    hash_hex(text, length - size, checksum);
    last = str_printf("checksum %s\n", checksum);
    return memcmp(text + length - size, last, size) == 0;
}

static bool parse_part(struct head *head, size_t part, const char *rest)
{
    const char *space = strchr(rest, ' ');
    _cleanup_free_ char *number = space ? str_new_n(rest, (size_t)(space - rest)) : NULL;
    int64_t length;

    if (!number || !str_to_int64(number, &length) || length < 0 ||
        strlen(space + 1) != HASH_HEX_SIZE - 1)
        return false;
    head->parts[part].exists = true;
    head->parts[part].length = (size_t)length;
    str_copy(head->parts[part].checksum, HASH_HEX_SIZE, space + 1);
    return true;
}

static bool parse_word(char **to, const char *rest)
{
    free(*to);
    *to = file_name_unescape(rest);
    return *to != NULL;
}

/* rest: the line after its key. */
static bool parse_line(struct head *head, const char *key, const char *rest)
{
    if (str_equal(key, "kind"))
        return document_kind_parse(rest, &head->name.name.kind);
    if (str_equal(key, "namespace"))
        return parse_word(&head->name.namespace_name, rest);
    if (str_equal(key, "name"))
        return parse_word(&head->name.spec_name, rest);
    if (str_equal(key, "item"))
        return parse_word(&head->name.item, rest);
    if (str_equal(key, "id"))
        return str_copy(head->id, ID_SIZE, rest) && strlen(rest) == ID_SIZE - 1;
    if (str_equal(key, "open"))
        return parse_part(head, PART_OPEN, rest);
    if (str_equal(key, "secret"))
        return parse_part(head, PART_SECRET, rest);
    if (str_equal(key, "journal"))
        return head->has_journal = str_equal(rest, "yes");
    return str_equal(key, "checksum");
}

static bool parse_lines(const char *text, struct head *head)
{
    if (!str_has_prefix(text, FIRST_LINE "\n"))
        return false;
    for (text += strlen(FIRST_LINE "\n"); *text;) {
        size_t length = strcspn(text, "\n"), key_length = strcspn(text, " \n");
        _cleanup_free_ char *key = str_new_n(text, key_length), *rest = NULL;

        if (key_length == length)
            return false;
        rest = str_new_n(text + key_length + 1, length - key_length - 1);
        if (!parse_line(head, key, rest))
            return false;
        text += length + 1;
    }
    return *head->id && head->parts[PART_OPEN].exists && head->name.namespace_name &&
           head->name.spec_name;
}

bool file_head_parse(const char *text, size_t length, struct head *ret)
{
    struct head head = {0};

    if (!is_whole(text, length) || !parse_lines(text, &head)) {
        file_head_done(&head);
        return false;
    }
    own_name_set(&head.name, head.name.name.kind);
    *ret = head;
    return true;
}
