#include "runtimes/terraform/lifecycle.h"

#include <string.h>

#include "engine/base/str.h"

#define MOST_KEYS 16 /* of a path */

static const char *const flags[] = {"createBeforeDestroy", "preventDestroy"};

/* ---- Checking ---- */

/* Cuts the path at its dots. 0: it is no path. */
static size_t cut(char *path, const char *keys[MOST_KEYS])
{
    size_t n = 0;

    while (path && n < MOST_KEYS) {
        char *dot = strchr(path, '.');

        if (dot)
            *dot++ = '\0';
        if (!*path || strpbrk(path, "[] "))
            return 0;
        keys[n++] = path;
        path = dot;
    }
    return path ? 0 : n;
}

static int check_paths(const struct value *paths, struct error *error)
{
    if (str_equal(value_string(paths), "all"))
        return 0;
    if (paths && !value_is(paths, VALUE_ARRAY))
        return err_set(error, ERR_INVALID, NULL, "ignoreChanges: must be a list, or \"all\"");
    for (size_t i = 0; i < value_count(paths); i++) {
        _cleanup_free_ char *path = str_new(value_string(value_at(paths, i)));
        const char *keys[MOST_KEYS];

        if (!path || !cut(path, keys))
            return err_set(error, ERR_INVALID, NULL,
                           "ignoreChanges[%zu]: must be an argument's name, or names with dots "
                           "between them",
                           i);
    }
    return 0;
}

int lifecycle_check(const struct value *lifecycle, struct error *error)
{
    if (lifecycle && !value_is(lifecycle, VALUE_OBJECT))
        return err_set(error, ERR_INVALID, NULL, "must be an object");
    for (size_t i = 0; i < value_count(lifecycle); i++) {
        size_t length;
        const char *key = value_member_key(lifecycle, i, &length);
        bool is_flag = str_equal(key, flags[0]) || str_equal(key, flags[1]);

        if (!is_flag && !str_equal(key, "ignoreChanges"))
            return err_set(error, ERR_INVALID, NULL,
                           "%s: there is no such setting; there are createBeforeDestroy, "
                           "preventDestroy and ignoreChanges",
                           key);
        if (is_flag && !value_is(value_member(lifecycle, i), VALUE_BOOL))
            return err_set(error, ERR_INVALID, NULL, "%s: must be true or false", key);
    }
    return check_paths(value_get(lifecycle, "ignoreChanges"), error);
}

/* ---- Use ---- */

static const struct value *setting(const struct value *extensions, const char *name)
{
    return value_get(value_get(extensions, "lifecycle"), name);
}

bool lifecycle_creates_first(const struct value *extensions)
{
    return value_bool(setting(extensions, "createBeforeDestroy"), false);
}

bool lifecycle_prevents_destroy(const struct value *extensions)
{
    return value_bool(setting(extensions, "preventDestroy"), false);
}

static const struct value *at(const struct value *value, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        value = value_get(value, keys[i]);
    return value;
}

static bool is_map(const struct tf_type *type, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n && type; i++)
        type = type->kind == TF_OBJECT ? tf_type_member(type, keys[i], strlen(keys[i])) : NULL;
    return type && type->kind == TF_MAP;
}

/* A key of a map comes back, or goes. */
static const struct value *keep_key(const struct value *config, const struct value *kept,
                                    const char *const *keys, size_t n)
{
    const struct value *map = at(config, keys, n - 1);

    if (!map || value_is(map, VALUE_UNKNOWN))
        return value_ref(config);
    if (kept)
        return value_with_path(config, keys, n, kept);
    return at(config, keys, n) ? value_without_path(config, keys, n) : value_ref(config);
}

/* A path that the state or the configuration does not have changes nothing, unless it ends in a key
 * of a map. */
static const struct value *keep(const struct value *config, const struct value *before,
                                const struct tf_type *type, const char *const *keys, size_t n)
{
    const struct value *kept = at(before, keys, n);

    if (n > 1 && is_map(type, keys, n - 1))
        return keep_key(config, kept, keys, n);
    return kept && at(config, keys, n) ? value_with_path(config, keys, n, kept) : value_ref(config);
}

static bool ignores_all(const struct value *extensions)
{
    return str_equal(value_string(setting(extensions, "ignoreChanges")), "all");
}

static const struct value *keep_paths(const struct value *extensions, const struct tf_block *block,
                                      const struct value *config, const struct value *before)
{
    const struct value *paths = setting(extensions, "ignoreChanges");
    const struct value *kept = value_ref(config);

    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths) && kept; i++) {
        _cleanup_free_ char *path = str_new(value_string(value_at(paths, i)));
        _cleanup_value_ const struct value *last = kept;
        const char *keys[MOST_KEYS];

        kept = keep(last, before, block->type, keys, cut(path, keys));
    }
    return kept;
}

const struct value *lifecycle_ignore(const struct value *extensions, const struct tf_block *block,
                                     const struct value *config, const struct value *before)
{
    if (!before)
        return value_ref(config);
    if (ignores_all(extensions))
        return tf_without_computed(block, before);
    return keep_paths(extensions, block, config, before);
}

const struct value *lifecycle_revert(const struct value *extensions, const struct tf_block *block,
                                     const struct value *planned, const struct value *before)
{
    if (!before)
        return value_ref(planned);
    return ignores_all(extensions) ? value_ref(before)
                                   : keep_paths(extensions, block, planned, before);
}
