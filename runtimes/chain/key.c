/* Keys of objects: private.h. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"

#define FORMAT        "v1"
#define SEGMENT_BYTES 200  /* of a name's segment */
#define SHOWN         120  /* bytes that are kept of a longer one */
#define CUT           "=-" /* then: SHOWN bytes, this, and the digits of its checksum */
#define CUT_DIGITS    40
#define NUMBER_DIGITS 16

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static bool is_never_plain(char c)
{
    (void)c;
    return false;
}

/* Segments of dots alone are folders of their own to servers. */
char *chain_word(const char *text)
{
    struct buf to = BUF_INIT;
    bool has_dots_alone = text[strspn(text, ".")] == '\0';

    escape_add(&to, text, strlen(text), '=', has_dots_alone ? is_never_plain : is_plain);
    return buf_take(&to);
}

char *chain_unword(const char *word)
{
    return escape_read(word, '=', is_plain);
}

static char *segment(const char *text)
{
    _cleanup_free_ char *word = chain_word(text);
    char hex[HASH_HEX_SIZE];

    if (strlen(word) <= SEGMENT_BYTES)
        return TAKE(word);
    hash_hex(text, strlen(text), hex);
    return str_printf("%.*s" CUT "%.*s", SHOWN, word, CUT_DIGITS, hex);
}

char *chain_folder(enum document_kind kind, const struct spec_key *spec)
{
    _cleanup_free_ char *namespace_name = NULL, *name = NULL;

    if (!spec)
        return str_printf(FORMAT "/%s/", document_kind_name(kind));
    namespace_name = segment(spec->namespace_name);
    name = segment(spec->name);
    return str_printf(FORMAT "/%s/%s/%s/", document_kind_name(kind), namespace_name, name);
}

char *chain_prefix(const struct document_name *name)
{
    _cleanup_free_ char *folder = chain_folder(name->kind, &name->spec);
    _cleanup_free_ char *item = name->item ? segment(name->item) : str_new("");

    return str_printf("%s%s~", folder, item);
}

char *chain_key(const char *prefix, int64_t number)
{
    return str_printf("%s%0*" PRId64, prefix, NUMBER_DIGITS, number);
}

/* Where chains begin that are begun on one day. */
#define NUMBERS_OF_A_DAY INT64_C(10000000000)

bool chain_is_beginning(const struct chain_seen *seen)
{
    return seen->is_removed && seen->n_ids == 1 && seen->number % NUMBERS_OF_A_DAY == 0;
}

bool chain_is_at_end(const struct chain_seen *seen)
{
    return !seen->number || seen->is_closed;
}

int64_t chain_next(const struct chain_seen *seen)
{
    if (chain_is_at_end(seen))
        return (seen->looked / DAY_MS - 1) * NUMBERS_OF_A_DAY;
    if (chain_is_beginning(seen))
        return seen->number + NUMBERS_OF_A_DAY;
    return seen->number + 1;
}

bool chain_key_parse(const char *key, int64_t *ret_number, size_t *ret_length)
{
    const char *mark = strrchr(key, '~');

    if (!mark || strspn(mark + 1, "0123456789") != NUMBER_DIGITS ||
        strlen(mark + 1) != NUMBER_DIGITS || !str_to_int64(mark + 1, ret_number))
        return false;
    *ret_length = (size_t)(mark + 1 - key);
    return *ret_number > 0;
}

/* One segment of the prefix, which *at is moved beyond. 1; 0: it was cut; -1. */
static int parse_segment(const char **at, char end, char **ret)
{
    const char *stop = strchr(*at, end);
    _cleanup_free_ char *word = stop ? str_new_n(*at, (size_t)(stop - *at)) : NULL;

    if (!word || !*word)
        return -1;
    *at = stop + 1;
    if (strstr(word, CUT))
        return 0;
    *ret = chain_unword(word);
    return *ret ? 1 : -1;
}

int chain_prefix_parse(const char *prefix, struct own_name *ret)
{
    const char *at = prefix + strlen(FORMAT "/"), *slash;
    _cleanup_free_ char *word = NULL;
    int namespace_name, spec_name = -1, item = 1, r;
    enum document_kind kind;

    *ret = (struct own_name){0};
    if (!str_has_prefix(prefix, FORMAT "/") || !(slash = strchr(at, '/')))
        return -1;
    word = str_new_n(at, (size_t)(slash - at));
    if (!document_kind_parse(word, &kind))
        return -1;
    at = slash + 1;
    namespace_name = parse_segment(&at, '/', &ret->namespace_name);
    if (namespace_name >= 0)
        spec_name = parse_segment(&at, '/', &ret->spec_name);
    if (spec_name >= 0 && *at != '~')
        item = parse_segment(&at, '~', &ret->item);
    r = namespace_name < spec_name ? namespace_name : spec_name;
    r = item < r ? item : r;
    if (r < 1)
        own_name_done(ret);
    own_name_set(ret, kind);
    return r;
}
