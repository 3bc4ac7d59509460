#include "runtimes/kubernetes/objects/relate.h"

#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/objects/access.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/ranks.h"

struct search {
    struct object_ref *refs;   /* one for each target; name NULL: it names no object */
    struct strmap namespaces;  /* name -> object_ref */
    struct strmap definitions; /* "group/Kind" -> object_ref of its CustomResourceDefinition */
    struct arena keys;
};

static void put_first(struct strmap *map, const char *key, struct object_ref *ref)
{
    if (!strmap_get(map, key))
        strmap_put(map, key, ref);
}

static void note_definition(struct search *search, struct object_ref *ref,
                            const struct value *attributes)
{
    const struct value *spec = value_get(attributes, "spec");
    const char *group = value_get_string(spec, "group");
    const char *kind = value_get_string(value_get(spec, "names"), "kind");

    if (group && kind)
        put_first(&search->definitions, arena_printf(&search->keys, "%s/%s", group, kind), ref);
}

static void note(struct search *search, size_t i, const struct value *attributes,
                 uint16_t *ret_rank)
{
    const struct object_ref found = object_ref_of(attributes);
    struct object_ref *ref = &search->refs[i];

    *ret_rank = kind_rank(&found);
    if (!found.api_version || !found.kind || !found.name)
        return;
    *ref = found;
    if (object_ref_is_namespace(ref))
        put_first(&search->namespaces, ref->name, ref);
    else if (object_ref_is_definition(ref))
        note_definition(search, ref, attributes);
}

static const struct object_ref *definition_of(struct search *search, const struct object_ref *ref)
{
    char key[512];
    size_t group_length;
    const char *group = api_group(ref->api_version, &group_length);
    int length = snprintf(key, sizeof(key), "%.*s/%s", (int)group_length, group, ref->kind);

    if (length < 0 || (size_t)length >= sizeof(key))
        return NULL;
    return strmap_get_n(&search->definitions, key, (size_t)length);
}

/* ClusterRoles and ClusterRoleBindings are cluster-scoped, even if their metadata have a namespace.
 * */
static enum relation_kind relation_to_namespace(const struct object_ref *ref)
{
    return str_has_prefix(ref->kind, "Cluster") ? RELATION_AFTER : RELATION_IN;
}

/* Namespaces and CustomResourceDefinitions live in nothing, even if their metadata have a
 * namespace. */
static void add_relations(struct search *search, size_t i, struct relations *ret)
{
    const struct object_ref *ref = &search->refs[i], *other = NULL;

    if (!ref->name || object_ref_is_namespace(ref) || object_ref_is_definition(ref))
        return;
    if (search->namespaces.count && ref->namespace_name)
        other = strmap_get(&search->namespaces, ref->namespace_name);
    if (other)
        relations_add(ret, i, (size_t)(other - search->refs), relation_to_namespace(ref));
    other = search->definitions.count ? definition_of(search, ref) : NULL;
    if (other)
        relations_add(ret, i, (size_t)(other - search->refs), RELATION_IN);
}

static void put_rights_last(const struct runtime_scope *scope, const struct runtime_target *targets,
                            size_t n, struct relations *ret)
{
    const struct access_account account = {scope->key.namespace_name,
                                           kube_service_account(scope->identity)};
    _cleanup_free_ const struct value **attributes = NULL;
    _cleanup_free_ uint32_t *last = NULL;
    size_t count;

    if (!account.name)
        return;
    attributes = NEW_ARRAY(const struct value *, n + 1);
    last = NEW_ARRAY(uint32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        attributes[i] = target_identity(&targets[i]);
    count = access_find(attributes, n, &account, last);
    for (size_t i = 0; i < count; i++)
        ret->last[last[i]] = (uint32_t)(i + 1);
}

int kube_relate(struct runtime *runtime, const struct runtime_scope *scope,
                const struct runtime_target *targets, size_t n, struct relations *ret,
                struct error *error)
{
    struct search search = {.refs = NEW_ARRAY(struct object_ref, n + 1)};

    (void)runtime, (void)error;
    for (size_t i = 0; i < n; i++)
        note(&search, i, target_identity(&targets[i]), &ret->ranks[i]);
    if (search.namespaces.count || search.definitions.count)
        for (size_t i = 0; i < n; i++)
            add_relations(&search, i, ret);
    put_rights_last(scope, targets, n, ret);
    free(search.refs);
    strmap_done(&search.namespaces);
    strmap_done(&search.definitions);
    arena_done(&search.keys);
    return 0;
}
