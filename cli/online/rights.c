#include "cli/online/rights.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define OFFER "to allow it"

void grants_done(struct grants *grants)
{
    for (size_t i = 0; i < grants->count; i++) {
        free(grants->items[i].command);
        value_unref(grants->items[i].role);
        value_unref(grants->items[i].binding);
    }
    free(grants->items);
    *grants = (struct grants){0};
}

/* ---- Reading a command ---- */

/* The text after --NAME= in the command, up to a blank; free(). NULL: it has none. */
static char *option_of(const char *command, const char *name)
{
    _cleanup_free_ char *prefix = str_printf(" --%s=", name);
    const char *at = strstr(command, prefix);

    return at ? str_new_n(at + strlen(prefix), strcspn(at + strlen(prefix), " ")) : NULL;
}

static const struct value *list_of(const char *words)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    while (words && *words) {
        size_t length = strcspn(words, ",");

        value_add_string_n(b, words, length);
        words += length + (words[length] == ',');
    }
    value_end_array(b);
    return value_finish(b);
}

struct words {
    char *name, *verbs, *resource, *object, *place, *account;
};

static void words_done(struct words *words)
{
    free(words->name);
    free(words->verbs);
    free(words->resource);
    free(words->object);
    free(words->place);
    free(words->account);
}

/* "kubectl create role NAME --verb=V --resource=R … && kubectl create rolebinding …". */
static bool read_words(const char *command, struct words *ret)
{
    static const char role[] = "kubectl create role ";
    const char *second = strstr(command, " && kubectl create rolebinding ");
    _cleanup_free_ char *first = NULL;

    if (!str_has_prefix(command, role) || !second)
        return false;
    first = str_new_n(command, (size_t)(second - command));
    ret->name = str_new_n(command + strlen(role), strcspn(command + strlen(role), " "));
    ret->verbs = option_of(first, "verb");
    ret->resource = option_of(first, "resource");
    ret->object = option_of(first, "resource-name");
    ret->place = option_of(first, "namespace");
    ret->account = option_of(second, "serviceaccount");
    return ret->verbs && ret->resource && ret->place && ret->account && strchr(ret->account, ':');
}

/* "deployments.apps": the resource, and its group. */
static const struct value *rule_of(const struct words *words)
{
    const char *dot = strchr(words->resource, '.'), *group = dot ? dot + 1 : "";
    _cleanup_free_ char *plural = dot ? str_new_n(words->resource, (size_t)(dot - words->resource))
                                      : str_new(words->resource);
    _cleanup_value_ const struct value *verbs = list_of(words->verbs), *names = NULL;

    if (words->object)
        names = list_of(words->object);
    return value_pack("{s:[s], s:[s], s:v, s:v?}", "apiGroups", group, "resources", plural, "verbs",
                      verbs, "resourceNames", names);
}

static void read_command(struct grant *grant)
{
    _cleanup_(words_done) struct words words = {0};
    _cleanup_value_ const struct value *rule = NULL;
    _cleanup_free_ char *place = NULL;
    const char *colon;

    if (!read_words(grant->command, &words))
        return;
    rule = rule_of(&words);
    colon = strchr(words.account, ':');
    place = str_new_n(words.account, (size_t)(colon - words.account));
    grant->role = value_pack("{s:s, s:s, s:{s:s, s:s}, s:[v]}", "apiVersion",
                             "rbac.authorization.k8s.io/v1", "kind", "Role", "metadata", "name",
                             words.name, "namespace", words.place, "rules", rule);
    grant->binding =
        value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:[{s:s, s:s, s:s}]}", "apiVersion",
                   "rbac.authorization.k8s.io/v1", "kind", "RoleBinding", "metadata", "name",
                   words.name, "namespace", words.place, "roleRef", "apiGroup",
                   "rbac.authorization.k8s.io", "kind", "Role", "name", words.name, "subjects",
                   "kind", "ServiceAccount", "name", colon + 1, "namespace", place);
}

/* ---- Finding them ---- */

static void add(struct grants *grants, const char *command, size_t length)
{
    _cleanup_free_ char *text = str_new_n(command, length);

    for (size_t i = 0; i < grants->count; i++)
        if (str_equal(grants->items[i].command, text))
            return;
    grants->items =
        mem_grow(grants->items, grants->count, &grants->capacity, sizeof(*grants->items));
    grants->items[grants->count] = (struct grant){.command = TAKE(text)};
    read_command(&grants->items[grants->count++]);
}

/* Only what begins a line below the first is of the operator (engine/base/error.h). */
static void add_offers(struct grants *grants, const char *message)
{
    const char *line = message ? strchr(message, '\n') : NULL;

    for (; line; line = strchr(line, '\n')) {
        size_t length = strcspn(++line, "\n");
        const char *command = strstr(line, "kubectl create ");

        if (str_has_prefix(line, OFFER) && command && command < line + length)
            add(grants, command, length - (size_t)(command - line));
    }
}

void grants_find(const struct value *release, struct grants *ret)
{
    const struct value *results = value_path(release, "status", "results", NULL);
    const struct value *conditions = value_path(release, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(results); i++)
        add_offers(ret, value_get_string(value_at(results, i), "message"));
    for (size_t i = 0; i < value_count(conditions); i++)
        add_offers(ret, value_get_string(value_at(conditions, i), "message"));
}
