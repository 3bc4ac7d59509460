/*
 * From resources to a graph: what is written (dependsOn), what is referred to ($kusion_path), and
 * what their runtimes know (relations.h).
 */
#ifndef ENGINE_GRAPH_BUILD_H
#define ENGINE_GRAPH_BUILD_H

#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/spec/spec.h"

/*
 * Nodes are the Spec's resources, by index. Of relations, those among the first n_resources targets
 * count, which are these; NULL: there are none. ERR_INVALID CyclicDependency.
 */
int graph_from_spec(const struct spec *spec, const struct relations *relations, struct graph **ret,
                    struct error *error);

/*
 * From records (State): dependencies by id, those that are not among the nodes are left out; and
 * relations, whose targets the records are, or NULL. Records can hold no cycle but by damage; an
 * edge that would close one is an error.
 *
 * For a walk in reverse, which removes: what is `last` then goes after everything else, one by one.
 * Its own dependencies and relations do not count.
 */
struct graph_record {
    const char *id;
    const char *const *dependencies;
    size_t n_dependencies;
};
int graph_from_records(const struct graph_record *records, size_t n_records,
                       const struct relations *relations, struct graph **ret, struct error *error);

#endif
