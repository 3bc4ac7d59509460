#include "engine/spec/ref.h"

#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/spec/private.h"
#include "engine/value/path.h"

#define PREFIX_LENGTH (sizeof(REF_PREFIX) - 1)

bool ref_is(const struct value *value)
{
    const char *text = value_string(value);

    return text && strncmp(text, REF_PREFIX, PREFIX_LENGTH) == 0;
}

bool ref_is_within(const struct value *value)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    return length && memmem(text + 1, length - 1, REF_PREFIX, PREFIX_LENGTH);
}

int ref_text(const struct value *value, const char **ret, struct error *error)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (strlen(text) != length)
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "the reference \"%s\" contains a NUL", text);
    *ret = text;
    return 0;
}

/* Finds the longest id that the text begins with, followed by a dot or the end. The work is bounded
 * by the longest id allowed, not by the length of the text or its number of dots. */
static const struct strmap_entry *longest_id(const struct strmap *ids, const char *text)
{
    size_t end = strnlen(text, LIMIT_ID_BYTES);

    for (; end > 0; end--) {
        const struct strmap_entry *entry;

        if (text[end] != '.' && text[end] != '\0')
            continue;
        entry = strmap_find_n(ids, text, end);
        if (entry)
            return entry;
    }
    return NULL;
}

int ref_parse(const char *text, const struct strmap *ids, struct ref *ret, struct error *error)
{
    const char *start = text + PREFIX_LENGTH, *path;
    const struct strmap_entry *entry;

    if (!str_has_prefix(text, REF_PREFIX))
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "\"%s\" does not begin with " REF_PREFIX, text);
    entry = longest_id(ids, start);
    if (!entry)
        return err_set(error, ERR_NOT_FOUND, "UnknownReference",
                       "no resource has an id that \"%s\" begins with", start);
    path = start + entry->key_length;
    if (*path && !path_check(++path, error)) {
        err_wrap(error, "after the id \"%s\"", entry->key);
        return ERR_INVALID;
    }
    *ret = (struct ref){.target = entry->value, .id = entry->key, .path = path};
    return 0;
}
