#include "runtimes/terraform/environment.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MOST_BYTES (64u << 10) /* of all names and values */

/* A name that ends with "*" stands for all that begin so. */
static const char *const refused[] = {
    "LD_*", "DYLD_*",     "GLIBC_*",    "MALLOC_*",    "GODEBUG",
    "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR",
    "TF_*", "PLUGIN_*",   "HOME",       "PATH",        "TMPDIR",
};

static bool is_refused(const char *name)
{
    if (str_has_suffix(name, "_PROXY")) /* where it connects to is not a tenant's to say */
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        size_t length = strcspn(refused[i], "*");

        if (refused[i][length] ? strncmp(name, refused[i], length) == 0
                               : strcmp(name, refused[i]) == 0)
            return true;
    }
    return false;
}

/* NULL: it has none. */
static const char *text_of(const struct value *value)
{
    size_t length;
    const char *string = value_string_n(value, &length);

    if (string)
        return strlen(string) == length ? string : NULL;
    if (value_is(value, VALUE_BOOL))
        return value_bool(value, false) ? "true" : "false";
    return value_number(value);
}

static int add(struct value_builder *b, const char *name, const struct value *value,
               struct error *error)
{
    const char *text = text_of(value);
    _cleanup_value_ const struct value *string = text ? value_pack("s", text) : NULL;

    if (is_refused(name))
        return err_set(error, ERR_INVALID, "InvalidContext",
                       "context.%s: a provider's environment cannot have this variable", name);
    if (!text)
        return err_set(error, ERR_INVALID, "InvalidContext",
                       "context.%s: a variable of a provider's environment is a string, a number "
                       "or a boolean, and has no NUL byte",
                       name);
    if (str_has_prefix(text, "ref://"))
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "context.%s: references to a secret store are not supported by this "
                       "version; contextFrom takes values from Secrets",
                       name);
    value_key(b, name);
    if (value_is_sensitive(value))
        value_add_sensitive(b, string);
    else
        value_add(b, string);
    return 0;
}

int environment_read(const struct value *context, const struct value **ret, struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t length, n = 0, bytes = 0;
    int r = 0;

    *ret = NULL;
    value_begin_object(b);
    for (size_t i = 0; i < value_count(context) && r >= 0; i++) {
        const char *name = value_member_key(context, i, &length);

        if (strlen(name) != length || !str_is_variable(name))
            continue;
        value_string_n(value_member(context, i), &length);
        bytes += strlen(name) + (value_is(value_member(context, i), VALUE_STRING) ? length : 0);
        r = ++n > ENVIRONMENT_VARIABLES || bytes > MOST_BYTES
                ? err_set(error, ERR_INVALID, "InvalidContext",
                          "context: more than %d variables for providers, or than %u KiB of them",
                          ENVIRONMENT_VARIABLES, MOST_BYTES >> 10)
                : add(b, name, value_member(context, i), error);
    }
    value_end(b);
    return r < 0 || !n ? r : value_builder_finish(b, ret, error);
}

char **environment_strings(const struct value *environment)
{
    size_t n = value_count(environment), length;
    char **strings = NEW_ARRAY(char *, n + 1);

    for (size_t i = 0; i < n; i++)
        strings[i] = str_printf("%s=%s", value_member_key(environment, i, &length),
                                value_string(value_member(environment, i)));
    return strings;
}

void environment_strings_free(char **strings)
{
    for (char **string = strings; string && *string; string++)
        free(*string);
    free(strings);
}
