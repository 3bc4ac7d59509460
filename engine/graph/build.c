#include "engine/graph/build.h"

#include "engine/base/mem.h"
#include "engine/base/strmap.h"

/* A graph under construction. */
struct build {
    uint32_t n_nodes;
    const struct relations *relations; /* relations, or NULL */
    struct graph_edge *edges;
    size_t n_edges, capacity;
};

static void build_done(struct build *build)
{
    free(build->edges);
}

static void add_edge(struct build *build, size_t node, size_t dependency)
{
    build->edges = mem_grow(build->edges, build->n_edges, &build->capacity, sizeof(*build->edges));
    build->edges[build->n_edges++] = (struct graph_edge){(uint32_t)node, (uint32_t)dependency};
}

static int finish(struct build *build, const char *(*name)(void *arg, uint32_t node), void *arg,
                  struct graph **ret, struct error *error)
{
    const uint16_t *ranks = build->relations ? build->relations->ranks : NULL;

    return graph_new(build->n_nodes, build->edges, build->n_edges, ranks, name, arg, ret, error);
}

/* ---- From a Spec ---- */

static const char *name_of_resource(void *arg, uint32_t node)
{
    const struct spec *spec = arg;

    return spec->resources[node].id;
}

int graph_from_spec(const struct spec *spec, const struct relations *relations, struct graph **ret,
                    struct error *error)
{
    _cleanup_(build_done) struct build build = {.n_nodes = (uint32_t)spec->n_resources,
                                                .relations = relations};

    for (size_t i = 0; i < spec->n_resources; i++) {
        const struct spec_dependencies *dependencies = &spec->dependencies[i];

        for (size_t d = 0; d < dependencies->count; d++)
            add_edge(&build, i, dependencies->indices[d]);
    }
    for (size_t i = 0; relations && i < relations->n_items; i++) {
        const struct relation *relation = &relations->items[i];

        if (relation->node < build.n_nodes && relation->other < build.n_nodes)
            add_edge(&build, relation->node, relation->other);
    }
    return finish(&build, name_of_resource, (void *)(uintptr_t)spec, ret, error);
}

/* ---- From records ---- */

static const char *name_of_record(void *arg, uint32_t node)
{
    const struct graph_record *records = arg;

    return records[node].id;
}

static bool is_last(const struct build *build, size_t node)
{
    return build->relations && build->relations->last[node];
}

static void add_recorded(struct build *build, const struct graph_record *records, size_t n_records)
{
    struct graph_record *values = (struct graph_record *)(uintptr_t)records;
    struct strmap by_id = STRMAP_INIT;

    for (size_t i = 0; i < n_records; i++)
        strmap_put(&by_id, records[i].id, &values[i]);
    for (size_t i = 0; i < n_records; i++)
        for (size_t d = 0; !is_last(build, i) && d < records[i].n_dependencies; d++) {
            const struct graph_record *dependency = strmap_get(&by_id, records[i].dependencies[d]);

            if (dependency)
                add_edge(build, i, (size_t)(dependency - records));
        }
    strmap_done(&by_id);
}

static void add_related(struct build *build)
{
    for (size_t i = 0; i < build->relations->n_items; i++) {
        const struct relation *relation = &build->relations->items[i];

        if (!is_last(build, relation->node))
            add_edge(build, relation->node, relation->other);
    }
}

static int by_place(const void *a, const void *b, void *places)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint32_t *place = places;

    if (place[x] != place[y])
        return place[x] < place[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Puts the `last` nodes into a chain on whose end all other nodes depend. That takes few edges,
 * however many nodes there are. */
static void put_last(struct build *build)
{
    _cleanup_free_ uint32_t *last = NEW_ARRAY(uint32_t, build->n_nodes + 1);
    size_t count = 0;

    for (uint32_t i = 0; i < build->n_nodes; i++)
        if (is_last(build, i))
            last[count++] = i;
    qsort_r(last, count, sizeof(*last), by_place, build->relations->last);
    for (size_t i = 1; i < count; i++)
        add_edge(build, last[i - 1], last[i]);
    for (uint32_t i = 0; count && i < build->n_nodes; i++)
        if (!is_last(build, i))
            add_edge(build, i, last[0]);
}

int graph_from_records(const struct graph_record *records, size_t n_records,
                       const struct relations *relations, struct graph **ret, struct error *error)
{
    _cleanup_(build_done) struct build build = {.n_nodes = (uint32_t)n_records,
                                                .relations = relations};

    add_recorded(&build, records, n_records);
    if (relations) {
        add_related(&build);
        put_last(&build);
    }
    return finish(&build, name_of_record, (void *)(uintptr_t)records, ret, error);
}
