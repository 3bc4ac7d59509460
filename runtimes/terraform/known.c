#include "runtimes/terraform/known.h"

#include <stdatomic.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/hash.h"
#include "runtimes/terraform/source.h"

/* A package that some resource was recorded with. Resources share most of them. */
struct used {
    char *address, *version, *h1;
};

struct known {
    atomic_uint references;
    struct used *items;
    size_t count, capacity;
    char *accepted; /* a list (package/hash.h) */
};

static bool is_used(const struct known *known, const char *address, const char *version,
                    const char *h1)
{
    for (size_t i = 0; i < known->count; i++)
        if (str_equal(known->items[i].address, address) &&
            str_equal(known->items[i].version, version) && str_equal(known->items[i].h1, h1))
            return true;
    return false;
}

static void add(struct known *known, const struct value *memory)
{
    const char *address = value_get_string(memory, "provider");
    const char *version = value_get_string(memory, "version");
    const char *h1 = value_get_string(memory, "hash");

    if (!address || !version || !h1 || is_used(known, address, version, h1))
        return;
    known->items = mem_grow(known->items, known->count, &known->capacity, sizeof(*known->items));
    known->items[known->count++] =
        (struct used){.address = str_new(address), .version = str_new(version), .h1 = str_new(h1)};
}

static char *read_accepted(const struct value *accepted)
{
    _cleanup_buf_ struct buf list = BUF_INIT;

    if (value_string(accepted))
        buf_add_str(&list, value_string(accepted));
    for (size_t i = 0; value_is(accepted, VALUE_ARRAY) && i < value_count(accepted); i++)
        if (value_string(value_at(accepted, i)))
            buf_printf(&list, " %s", value_string(value_at(accepted, i)));
    return buf_take(&list);
}

struct known *known_new(const struct record *const *records, size_t n, const struct value *context)
{
    struct known *known = NEW(struct known);

    atomic_init(&known->references, 1);
    known->accepted = read_accepted(value_get(context, KNOWN_ACCEPTED));
    for (size_t i = 0; i < n; i++)
        if (str_equal(records[i]->type, TF_RUNTIME_TYPE))
            add(known, records[i]->memory);
    return known;
}

struct known *known_ref(struct known *known)
{
    if (known)
        atomic_fetch_add(&known->references, 1);
    return known;
}

void known_unref(struct known *known)
{
    if (!known || atomic_fetch_sub(&known->references, 1) > 1)
        return;
    for (size_t i = 0; i < known->count; i++) {
        free(known->items[i].address);
        free(known->items[i].version);
        free(known->items[i].h1);
    }
    free(known->items);
    free(known->accepted);
    free(known);
}

/* version: NULL: any. */
static const struct used *ith(const struct known *known, const char *address, const char *version,
                              size_t i)
{
    for (size_t at = 0; known && at < known->count; at++)
        if (str_equal(known->items[at].address, address) &&
            (!version || str_equal(known->items[at].version, version)) && i-- == 0)
            return &known->items[at];
    return NULL;
}

const char *known_version(const struct known *known, const char *address, size_t i)
{
    const struct used *used = ith(known, address, NULL, i);

    return used ? used->version : NULL;
}

const char *known_hash(const struct known *known, const char *address, const char *version,
                       size_t i)
{
    const struct used *used = ith(known, address, version, i);

    return used ? used->h1 : NULL;
}

int known_check(const struct known *known, const char *address, const char *version,
                const char *name, const char *h1, struct error *error)
{
    const char *other = NULL;

    if (!known || package_hash_is_listed(known->accepted, h1, NULL) ||
        is_used(known, address, version, h1))
        return 0;
    for (size_t i = 0; i < known->count && !other; i++)
        if (str_equal(known->items[i].address, address) &&
            str_equal(known->items[i].version, version))
            other = known->items[i].h1;
    if (!other)
        return 0;
    return err_set(error, ERR_FORBIDDEN, "ProviderChanged",
                   "the provider %s is another program than the one that was used so far, though "
                   "of the same version: its hash was %s, and is %s. If that is meant, add the new "
                   "hash to the Spec's context." KNOWN_ACCEPTED
                   ", or choose another version; else put the old files back",
                   name, other, h1);
}
