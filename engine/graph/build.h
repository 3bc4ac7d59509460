/*
 * Builds the graph of a Spec's or a State's resources. Edges come from dependsOn, from references
 * ($kusion_path), and from the order that runtimes know (relations.h).
 */
#ifndef ENGINE_GRAPH_BUILD_H
#define ENGINE_GRAPH_BUILD_H

#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/spec/spec.h"

/*
 * The nodes are the Spec's resources, by index. The first targets of `relations` are these
 * resources; relations with other targets are ignored. relations NULL: none. ERR_INVALID
 * CyclicDependency.
 */
int graph_from_spec(const struct spec *spec, const struct relations *relations, struct graph **ret,
                    struct error *error);

/*
 * The nodes are records of State. A dependency on an id without a record is ignored. The targets of
 * `relations` are the records; NULL: none. Stored records contain a cycle only if State is damaged:
 * ERR_INVALID CyclicDependency.
 *
 * The graph is for a walk in reverse, which deletes. Records with relations.last are deleted after
 * all others, one by one; their own dependencies and relations are ignored.
 */
struct graph_record {
    const char *id;
    const char *const *dependencies;
    size_t n_dependencies;
};
int graph_from_records(const struct graph_record *records, size_t n_records,
                       const struct relations *relations, struct graph **ret, struct error *error);

#endif
