#include "runtimes/kubernetes/objects/object_ref.h"

#include <string.h>

struct object_ref object_ref_of(const struct value *attributes)
{
    const struct value *metadata = value_get(attributes, "metadata");

    return (struct object_ref){
        .api_version = value_get_string(attributes, "apiVersion"),
        .kind = value_get_string(attributes, "kind"),
        .namespace_name = value_get_string(metadata, "namespace"),
        .name = value_get_string(metadata, "name"),
    };
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

const char *object_ref_id(struct arena *arena, const struct object_ref *ref)
{
    bool has_namespace = ref->namespace_name && *ref->namespace_name;

    return arena_printf(arena, "%s:%s:%s%s%s", or_empty(ref->api_version), or_empty(ref->kind),
                        has_namespace ? ref->namespace_name : "", has_namespace ? ":" : "",
                        or_empty(ref->name));
}

const char *api_group(const char *api_version, size_t *ret_length)
{
    const char *slash = api_version ? strchr(api_version, '/') : NULL;

    *ret_length = slash ? (size_t)(slash - api_version) : 0;
    return slash ? api_version : "";
}

bool api_group_is(const char *api_version, const char *group)
{
    size_t length;
    const char *found = api_group(api_version, &length);

    return api_version && strncmp(found, group, length) == 0 && group[length] == '\0';
}

bool object_ref_is(const struct object_ref *ref, const char *group, const char *kind)
{
    return ref->kind && *ref->kind == *kind && strcmp(ref->kind, kind) == 0 &&
           api_group_is(ref->api_version, group);
}

bool object_ref_is_namespace(const struct object_ref *ref)
{
    return object_ref_is(ref, "", "Namespace");
}

bool object_ref_is_definition(const struct object_ref *ref)
{
    return object_ref_is(ref, "apiextensions.k8s.io", "CustomResourceDefinition");
}
