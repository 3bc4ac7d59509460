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

/* Takes the reference to config over. A path that the state or the configuration does not have
 * changes nothing. */
static const struct value *keep(const struct value *config, const struct value *before,
                                const char *const *keys, size_t n)
{
    const struct value *kept = at(before, keys, n), *changed;

    if (!config || !kept || !at(config, keys, n))
        return config;
    changed = value_with_path(config, keys, n, kept);
    value_unref(config);
    return changed;
}

const struct value *lifecycle_ignore(const struct value *extensions, const struct value *config,
                                     const struct value *before)
{
    const struct value *paths = setting(extensions, "ignoreChanges");
    const struct value *kept = value_ref(config);

    if (!before)
        return kept;
    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths); i++) {
        _cleanup_free_ char *path = str_new(value_string(value_at(paths, i)));
        const char *keys[MOST_KEYS];

        kept = keep(kept, before, keys, cut(path, keys));
    }
    for (size_t i = 0; str_equal(value_string(paths), "all") && i < value_count(config); i++) {
        size_t length;
        const char *key = value_member_key(config, i, &length);

        kept = keep(kept, before, &key, 1);
    }
    return kept;
}
