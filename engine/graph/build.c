#include "engine/graph/build.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* A graph in the making, and what it finds in the resources. */
struct build {
    uint32_t n_nodes;
    uint16_t *ranks;
    struct object_ref *objects; /* of each node; all NULL: no Kubernetes object */
    struct graph_edge *edges;
    size_t n_edges, capacity;

    struct strmap namespaces;  /* name -> its object */
    struct strmap definitions; /* "group/Kind" -> the CustomResourceDefinition's object */
    bool *carries_rights;      /* of each node; NULL: of none */
    struct arena arena;        /* keys */
};

static void build_init(struct build *build, size_t n_nodes)
{
    *build = (struct build){.n_nodes = (uint32_t)n_nodes};
    build->ranks = NEW_ARRAY(uint16_t, n_nodes);
    build->objects = NEW_ARRAY(struct object_ref, n_nodes);
}

static void build_done(struct build *build)
{
    free(build->ranks);
    free(build->objects);
    free(build->edges);
    free(build->carries_rights);
    strmap_done(&build->namespaces);
    strmap_done(&build->definitions);
    arena_done(&build->arena);
}

static void add_edge(struct build *build, size_t node, size_t dependency)
{
    build->edges = mem_grow(build->edges, build->n_edges, &build->capacity, sizeof(*build->edges));
    build->edges[build->n_edges++] = (struct graph_edge){(uint32_t)node, (uint32_t)dependency};
}

/* ---- What the API itself demands ---- */

static bool is_namespace(const struct object_ref *object)
{
    return strcmp(object->kind, "Namespace") == 0 && api_group_is(object->api_version, "");
}

static bool is_definition(const struct object_ref *object)
{
    return strcmp(object->kind, "CustomResourceDefinition") == 0 &&
           api_group_is(object->api_version, "apiextensions.k8s.io");
}

static void note_definition(struct build *build, struct object_ref *object,
                            const struct value *attributes)
{
    const struct value *spec = value_get(attributes, "spec");
    const char *group = value_get_string(spec, "group");
    const char *kind = value_get_string(value_get(spec, "names"), "kind");

    if (group && kind)
        strmap_put(&build->definitions, arena_printf(&build->arena, "%s/%s", group, kind), object);
}

/* ref: all NULL, or of the Kubernetes object that attributes are. */
static void note_object(struct build *build, size_t node, const struct object_ref *ref,
                        const struct value *attributes)
{
    struct object_ref *object = &build->objects[node];

    build->ranks[node] = kind_rank(ref->api_version, ref->kind);
    if (!ref->api_version || !ref->kind || !ref->name)
        return;
    *object = *ref;
    if (is_namespace(object))
        strmap_put(&build->namespaces, object->name, object);
    else if (is_definition(object))
        note_definition(build, object, attributes);
}

static const struct object_ref *definition_of(struct build *build, const struct object_ref *object)
{
    char key[512];
    size_t group_length;
    const char *group = api_group(object->api_version, &group_length);
    int length = snprintf(key, sizeof(key), "%.*s/%s", (int)group_length, group, object->kind);

    if (length < 0 || (size_t)length >= sizeof(key))
        return NULL;
    return strmap_get_n(&build->definitions, key, (size_t)length);
}

/* Neither Namespaces nor definitions live in a namespace, whatever their metadata say, nor
 * are they defined by an object. */
static void add_demands(struct build *build, size_t node)
{
    const struct object_ref *object = &build->objects[node], *demanded = NULL;

    if (!object->kind || is_namespace(object) || is_definition(object) ||
        (build->carries_rights && build->carries_rights[node]))
        return;
    if (build->namespaces.count && object->namespace_name)
        demanded = strmap_get(&build->namespaces, object->namespace_name);
    if (demanded)
        add_edge(build, node, (size_t)(demanded - build->objects));
    demanded = build->definitions.count ? definition_of(build, object) : NULL;
    if (demanded)
        add_edge(build, node, (size_t)(demanded - build->objects));
}

static int finish(struct build *build, const char *(*name)(void *arg, uint32_t node), void *arg,
                  struct graph **ret, struct error *error)
{
    if (build->namespaces.count || build->definitions.count)
        for (uint32_t i = 0; i < build->n_nodes; i++)
            add_demands(build, i);
    return graph_new(build->n_nodes, build->edges, build->n_edges, build->ranks, name, arg, ret,
                     error);
}

/* ---- From a Spec ---- */

static const char *name_of_resource(void *arg, uint32_t node)
{
    const struct spec *spec = arg;

    return spec->resources[node].id;
}

int graph_from_spec(const struct spec *spec, struct graph **ret, struct error *error)
{
    _cleanup_(build_done) struct build build;

    build_init(&build, spec->n_resources);
    for (size_t i = 0; i < spec->n_resources; i++) {
        const struct resource *resource = &spec->resources[i];
        const struct spec_dependencies *dependencies = &spec->dependencies[i];

        note_object(&build, i, &resource->object, resource->attributes);
        for (size_t d = 0; d < dependencies->count; d++)
            add_edge(&build, i, dependencies->indices[d]);
    }
    return finish(&build, name_of_resource, (void *)(uintptr_t)spec, ret, error);
}

/* ---- From records ---- */

static const char *name_of_record(void *arg, uint32_t node)
{
    const struct graph_record *records = arg;

    return records[node].id;
}

static void add_recorded(struct build *build, const struct graph_record *records, size_t node,
                         const struct strmap *by_id)
{
    const struct graph_record *record = &records[node], *dependency;

    for (size_t i = 0; i < record->n_dependencies; i++) {
        dependency = strmap_get(by_id, record->dependencies[i]);
        if (dependency)
            add_edge(build, node, (size_t)(dependency - records));
    }
}

/* A chain, at whose end everything else hangs: few edges, however many there are. */
static void put_last(struct build *build, const struct graph_record *records,
                     const struct graph_account *account)
{
    _cleanup_free_ const struct value **attributes =
        NEW_ARRAY(const struct value *, build->n_nodes + 1);
    _cleanup_free_ uint32_t *last = NEW_ARRAY(uint32_t, build->n_nodes + 1);
    size_t count;

    for (size_t i = 0; i < build->n_nodes; i++)
        attributes[i] = records[i].attributes;
    count = graph_access(attributes, build->n_nodes, account, last);
    build->carries_rights = NEW_ARRAY(bool, build->n_nodes + 1);
    for (size_t i = 0; i < count; i++) {
        build->carries_rights[last[i]] = true;
        if (i)
            add_edge(build, last[i - 1], last[i]);
    }
    for (size_t i = 0; count && i < build->n_nodes; i++)
        if (!build->carries_rights[i])
            add_edge(build, i, last[0]);
}

int graph_from_records(const struct graph_record *records, size_t n_records,
                       const struct graph_account *account, struct graph **ret, struct error *error)
{
    _cleanup_(build_done) struct build build;
    struct strmap by_id = STRMAP_INIT;
    struct graph_record *values = (struct graph_record *)(uintptr_t)records;

    build_init(&build, n_records);
    for (size_t i = 0; i < n_records; i++)
        strmap_put(&by_id, records[i].id, &values[i]);
    if (account)
        put_last(&build, records, account);
    for (size_t i = 0; i < n_records; i++) {
        const struct object_ref ref = object_ref_of(records[i].attributes);

        note_object(&build, i, &ref, records[i].attributes);
        if (!build.carries_rights || !build.carries_rights[i])
            add_recorded(&build, records, i, &by_id);
    }
    strmap_done(&by_id);
    return finish(&build, name_of_record, values, ret, error);
}
