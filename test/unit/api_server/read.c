/* GET of one and of many: selectors and pages. */
#include "engine/base/str.h"
#include "engine/value/path.h"
#include "test/unit/api_server/private.h"

/* ---- Selectors ---- */

/* One requirement, "key", "!key", "key=value", "key!=value"; found: the value it is about. */
static bool requirement_holds(const char *text, size_t length, const char *found)
{
    const char *equals = memchr(text, '=', length);
    bool is_negated = equals && equals > text && equals[-1] == '!';
    const char *value;

    if (!equals)
        return *text == '!' ? !found : found != NULL;
    value = equals + 1 + (equals[1] == '=');
    length -= (size_t)(value - text);
    return (found && strlen(found) == length && strncmp(found, value, length) == 0) != is_negated;
}

static char *key_of(const char *text, size_t length)
{
    size_t start = *text == '!' ? 1 : 0, end = start;

    while (end < length && text[end] != '=' && text[end] != '!')
        end++;
    return str_new_n(text + start, end - start);
}

static bool all_hold(const char *selector, const struct value *object, bool is_of_labels)
{
    while (selector && *selector) {
        size_t length = strcspn(selector, ",");
        _cleanup_free_ char *key = key_of(selector, length);
        const char *found = is_of_labels
                                ? value_string(value_path(object, "metadata", "labels", key, NULL))
                                : value_string(path_find(object, key, NULL));

        if (!is_of_labels && !found)
            found = ""; /* as a field that is not there counts */
        if (!requirement_holds(selector, length, found))
            return false;
        selector += length + (selector[length] == ',');
    }
    return true;
}

bool api_selectors_match(const struct call *call, const struct value *object)
{
    return all_hold(api_call_param(call, "labelSelector"), object, true) &&
           all_hold(api_call_param(call, "fieldSelector"), object, false);
}

/* What real kinds can be selected by is bounded: what is not known here is refused, too. */
bool api_selectors_check(struct call *call)
{
    static const char *const fields[] = {"metadata.name", "metadata.namespace"};
    static const char *const of_releases[] = {"spec.specRef.name", "spec.operation",
                                              "status.phase"};
    const char *selector = api_call_param(call, "fieldSelector");
    const char *labels = api_call_param(call, "labelSelector");

    if (labels && strpbrk(labels, "()<>"))
        return api_call_refuse(call, 400, "BadRequest", "the fixture knows no sets in selectors");
    while (selector && *selector) {
        size_t length = strcspn(selector, ",");
        _cleanup_free_ char *key = key_of(selector, length);
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
            is_known = is_known || str_equal(key, fields[i]);
        for (size_t i = 0; i < ARRAY_SIZE(of_releases); i++)
            is_known = is_known || (str_equal(call->route.kind->plural, "releases") &&
                                    str_equal(key, of_releases[i]));
        if (!is_known)
            return api_call_refuse(call, 400, "BadRequest", "field label not supported: %s", key);
        selector += length + (selector[length] == ',');
    }
    return true;
}

/* ---- One ---- */

void api_read_object(struct call *call)
{
    const struct route *route = &call->route;
    const struct value *found =
        api_storage_find(call->server, route->kind, route->namespace_name, route->name);

    if (!found)
        api_call_refuse(call, 404, "NotFound", "%s \"%s\" not found", route->kind->plural,
                        route->name);
    else
        api_call_answer(call, 200,
                        api_call_wants_metadata(call) ? api_as_metadata(found) : value_ref(found));
}

/* ---- Many ---- */

/* As it stands in a list: what its kind is, the list says, but of custom resources. */
static void add_item(struct value_builder *b, const struct call *call, const struct value *object)
{
    _cleanup_value_ const struct value *item = NULL, *bare = NULL;

    if (api_call_wants_metadata(call)) {
        item = api_as_metadata(object);
    } else if (call->route.kind->is_custom) {
        item = value_ref(object);
    } else {
        bare = value_without(object, "kind");
        item = value_without(bare, "apiVersion");
    }
    value_add(b, item);
}

static void add_list_metadata(struct value_builder *b, const struct call *call, const char *next)
{
    bool is_partial = api_call_wants_metadata(call);
    _cleanup_free_ char *api_version = api_kind_api_version(call->route.kind);

    value_key(b, "kind");
    if (is_partial)
        value_add_string(b, "PartialObjectMetadataList");
    else
        value_add_printf(b, "%sList", call->route.kind->kind);
    value_key(b, "apiVersion");
    value_add_string(b, is_partial ? "meta.k8s.io/v1" : api_version);
    value_key(b, "metadata");
    value_begin_object(b);
    value_key(b, "resourceVersion");
    value_add_printf(b, "%lld", (long long)call->server->version);
    if (next) {
        value_key(b, "continue");
        value_add_string(b, next);
    }
    value_end_object(b);
}

/* The items from `from` on, at most `limit`. Gives the key of the first that found no room. */
static const char *add_items(struct value_builder *b, const struct call *call, const char *from,
                             int64_t limit)
{
    size_t count;
    const struct stored **all =
        api_storage_all(call->server, call->route.kind, call->route.namespace_name, &count);
    const char *next = NULL;
    int64_t taken = 0;

    for (size_t i = 0; i < count && !next; i++) {
        if ((from && strcmp(all[i]->key, from) < 0) || !api_selectors_match(call, all[i]->object))
            continue;
        if (limit > 0 && taken++ == limit)
            next = all[i]->key;
        else
            add_item(b, call, all[i]->object);
    }
    free(all);
    return next;
}

void api_read_list(struct call *call)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const char *text = api_call_param(call, "limit"), *next;
    const struct value *list = NULL;
    int64_t limit = 0;

    if (!api_selectors_check(call))
        return;
    if (text)
        str_to_int64(text, &limit);
    value_begin_object(b);
    value_key(b, "items");
    value_begin_array(b);
    next = add_items(b, call, api_call_param(call, "continue"), limit);
    value_end_array(b);
    add_list_metadata(b, call, next);
    value_end_object(b);
    value_builder_finish(b, &list, NULL);
    api_call_answer(call, 200, list);
}
