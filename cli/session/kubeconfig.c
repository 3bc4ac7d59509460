#include "cli/session/kubeconfig.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"

/* ---- File names ---- */

static const struct value *absolute(const struct value *object, const char *key, const char *folder)
{
    const char *file = value_get_string(object, key);
    _cleanup_free_ char *path = NULL;
    _cleanup_value_ const struct value *text = NULL;

    if (!file || !*file || file[0] == '/')
        return value_ref(object);
    path = str_printf("%s/%s", folder, file);
    text = value_pack("s", path);
    return value_with(object, key, text);
}

/* A command without a slash is looked for in $PATH. */
static const struct value *absolute_command(const struct value *user, const char *folder)
{
    const struct value *exec = value_get(user, "exec");
    const char *command = value_get_string(exec, "command");
    _cleanup_value_ const struct value *with = NULL;

    if (!command || !strchr(command, '/'))
        return value_ref(user);
    with = absolute(exec, "command", folder);
    return value_with(user, "exec", with);
}

static const struct value *with_absolute_files(const struct value *body, const char *folder)
{
    static const char *const keys[] = {"certificate-authority", "client-certificate", "client-key",
                                       "tokenFile"};
    _cleanup_value_ const struct value *at = value_ref(body);

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct value *next = absolute(at, keys[i], folder);

        value_unref(at);
        at = next;
    }
    body = absolute_command(at, folder);
    return body;
}

/* ---- Merging ---- */

static const struct {
    const char *list, *kind;
} lists[] = {{"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"}};

static bool is_in_earlier(const struct kubeconfig_file *files, size_t until, const char *list,
                          const char *name)
{
    for (size_t i = 0; i < until; i++) {
        const struct value *entries = value_get(files[i].value, list);

        for (size_t n = 0; n < value_count(entries); n++)
            if (str_equal(value_get_string(value_at(entries, n), "name"), name))
                return true;
    }
    return false;
}

static void add_entry(struct value_builder *b, const struct value *entry, const char *kind,
                      const char *folder)
{
    const struct value *body = value_get(entry, kind);
    _cleanup_value_ const struct value *with = NULL;

    if (value_is(body, VALUE_OBJECT))
        with = with_absolute_files(body, folder);
    value_begin_object(b);
    value_key(b, "name");
    value_add(b, value_get(entry, "name"));
    value_key(b, kind);
    value_add(b, with);
    value_end_object(b);
}

static void add_list(struct value_builder *b, const struct kubeconfig_file *files, size_t count,
                     const char *list, const char *kind)
{
    value_key(b, list);
    value_begin_array(b);
    for (size_t i = 0; i < count; i++) {
        const struct value *entries = value_get(files[i].value, list);

        for (size_t n = 0; n < value_count(entries); n++) {
            const struct value *entry = value_at(entries, n);
            const char *name = value_get_string(entry, "name");

            if (name && !is_in_earlier(files, i, list, name))
                add_entry(b, entry, kind, files[i].folder);
        }
    }
    value_end_array(b);
}

static const char *current_context(const struct kubeconfig_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *context = value_get_string(files[i].value, "current-context");

        if (context && *context)
            return context;
    }
    return NULL;
}

const struct value *kubeconfig_merge(const struct kubeconfig_file *files, size_t count)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const char *current = current_context(files, count);

    value_begin_object(b);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        add_list(b, files, count, lists[i].list, lists[i].kind);
    if (current) {
        value_key(b, "current-context");
        value_add_string(b, current);
    }
    value_end_object(b);
    return value_finish(b);
}

/* ---- Choosing ---- */

static const struct value *find(const struct value *merged, const char *list, const char *kind,
                                const char *name)
{
    const struct value *entries = value_get(merged, list);

    for (size_t i = 0; name && i < value_count(entries); i++)
        if (str_equal(value_get_string(value_at(entries, i), "name"), name))
            return value_get(value_at(entries, i), kind);
    return NULL;
}

static void add_names(struct buf *to, const struct value *entries)
{
    for (size_t i = 0; i < value_count(entries) && i < 10; i++)
        buf_printf(to, "%s%s", i ? ", " : "", value_get_string(value_at(entries, i), "name"));
    if (value_count(entries) > 10)
        buf_printf(to, " and %zu more", value_count(entries) - 10);
    if (!value_count(entries))
        buf_add_str(to, "none");
}

static int no_context(const struct value *merged, const char *context, struct error *error)
{
    _cleanup_buf_ struct buf names = BUF_INIT;

    add_names(&names, value_get(merged, "contexts"));
    if (context)
        err_set(error, ERR_INVALID, "InvalidConfig",
                "the kubeconfig has no context \"%s\" (contexts: %s)", context, names.data);
    else
        err_set(error, ERR_INVALID, "InvalidConfig",
                "the kubeconfig has no current-context (contexts: %s)", names.data);
    err_hint(error, "kubectl config get-contexts");
    return ERR_INVALID;
}

int kubeconfig_choose(const struct value *merged, const char *context,
                      struct kubeconfig_choice *ret, struct error *error)
{
    const struct value *chosen;

    if (!context)
        context = value_get_string(merged, "current-context");
    chosen = find(merged, "contexts", "context", context);
    if (!chosen)
        return no_context(merged, context, error);
    *ret = (struct kubeconfig_choice){
        .context = context,
        .cluster_name = value_get_string(chosen, "cluster"),
        .user_name = value_get_string(chosen, "user"),
    };
    ret->cluster = find(merged, "clusters", "cluster", ret->cluster_name);
    ret->user = find(merged, "users", "user", ret->user_name);
    return 0;
}

const struct value *kubeconfig_only(const struct value *merged,
                                    const struct kubeconfig_choice *choice,
                                    const struct value *user)
{
    const struct value *context = find(merged, "contexts", "context", choice->context);
    _cleanup_value_ const struct value *users = NULL;

    users = choice->user_name && user
                ? value_pack("[{s:s, s:v}]", "name", choice->user_name, "user", user)
                : value_pack("[]");
    return value_pack("{s:s, s:[{s:s, s:v}], s:v, s:v}", "current-context", choice->context,
                      "contexts", "name", choice->context, "context", context, "clusters",
                      value_get(merged, "clusters"), "users", users);
}
