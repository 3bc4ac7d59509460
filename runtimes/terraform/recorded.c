#include "runtimes/terraform/recorded.h"

#include "engine/base/str.h"
#include "runtimes/terraform/package/unpack.h"

/* NULL: there is none. Borrowed of `known`. */
static const char *newest_version(const struct known *known, const struct wanted *wanted)
{
    const char *best = NULL, *version;

    for (size_t i = 0; (version = known_version(known, wanted->source->address, i)); i++)
        if (wanted_matches(wanted, version) && wanted_is_newer(version, best))
            best = version;
    return best;
}

static bool is_listed(const struct locked *locked, const struct package *package)
{
    return !locked || package_hash_is_listed(locked->hashes, package->h1, package->zh);
}

/* The copy with that hash. */
static int take(struct cache *cache, const struct source *source, const char *h1,
                const struct locked *locked, struct found *ret)
{
    struct found found = {.is_locked = locked, .package = cache_find_hash(cache, h1)};

    if (!found.package || !is_listed(locked, found.package) ||
        package_program(found.package->folder, source->name, &found.program, NULL) < 0) {
        found_done(&found);
        return ERR_NOT_FOUND;
    }
    *ret = found;
    return 0;
}

int recorded_find(struct cache *cache, const struct wanted *wanted, const struct known *known,
                  const struct locked *locked, struct found *ret)
{
    const char *version = newest_version(known, wanted), *h1;

    if (!version)
        return ERR_NOT_FOUND;
    for (size_t i = 0; (h1 = known_hash(known, wanted->source->address, version, i)); i++)
        if (take(cache, wanted->source, h1, locked, ret) >= 0) {
            ret->version = str_new(version);
            return 0;
        }
    return ERR_NOT_FOUND;
}
