#include "runtimes/terraform/lifecycle.h"

#include "engine/base/str.h"
#include "engine/value/path.h"
#include "runtimes/terraform/ignore.h"

static const char *const flags[] = {"createBeforeDestroy", "preventDestroy"};

/* ---- Checking ---- */

static int check_paths(const struct value *paths, struct error *error)
{
    if (str_equal(value_string(paths), "all"))
        return 0;
    if (paths && !value_is(paths, VALUE_ARRAY))
        return err_set(error, ERR_INVALID, NULL, "ignoreChanges: must be a list, or \"all\"");
    for (size_t i = 0; i < value_count(paths); i++) {
        const char *path = value_string(value_at(paths, i));
        struct error problem = {0};

        if (!path)
            return err_set(error, ERR_INVALID, NULL,
                           "ignoreChanges[%zu]: must be the path of an argument, such as tags or "
                           "spec[0].replicas",
                           i);
        if (!path_check(path, &problem))
            return err_set(error, ERR_INVALID, NULL, "ignoreChanges[%zu]: %s", i, problem.message);
    }
    return 0;
}

int lifecycle_check(const struct value *lifecycle, struct error *error)
{
    if (lifecycle && !value_is(lifecycle, VALUE_OBJECT))
        return err_set(error, ERR_INVALID, NULL, "must be an object");
    for (size_t i = 0; i < value_count(lifecycle); i++) {
        const char *key = value_member_key(lifecycle, i, NULL);
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

static bool ignores_all(const struct value *extensions)
{
    return str_equal(value_string(setting(extensions, "ignoreChanges")), "all");
}

int lifecycle_check_paths(const struct value *extensions, const struct tf_block *block,
                          struct error *error)
{
    const struct value *paths = setting(extensions, "ignoreChanges");
    int r = 0;

    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths) && r >= 0; i++) {
        r = ignore_check(value_string(value_at(paths, i)), block->type, error);
        if (r < 0)
            err_wrap(error, "extensions.lifecycle.ignoreChanges[%zu]", i);
    }
    return r;
}

static const struct value *keep_paths(const struct value *extensions, const struct tf_block *block,
                                      const struct value *config, const struct value *before)
{
    const struct value *paths = setting(extensions, "ignoreChanges");
    const struct value *kept = value_ref(config);

    for (size_t i = 0; value_is(paths, VALUE_ARRAY) && i < value_count(paths) && kept; i++) {
        _cleanup_value_ const struct value *last = kept;

        kept = ignore_apply(value_string(value_at(paths, i)), block->type, last, before);
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
