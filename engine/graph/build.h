/*
 * From resources to a graph: what is written (dependsOn), what is referred to
 * ($kusion_path), what the API itself demands (a namespaced object after its
 * Namespace, a custom resource after its CustomResourceDefinition), and the
 * kinds' default order as ranks (kusion.md).
 */
#ifndef ENGINE_GRAPH_BUILD_H
#define ENGINE_GRAPH_BUILD_H

#include "engine/graph/access.h"
#include "engine/graph/graph.h"
#include "engine/spec/spec.h"

/* Nodes are the Spec's resources, by index. ERR_INVALID CyclicDependency. */
int graph_from_spec(const struct spec *spec, struct graph **ret, struct error *error);

/*
 * From records (State): dependencies by id, those that are not among the nodes are left
 * out. Records can hold no cycle but by damage; an edge that would close one is an error.
 *
 * account: whoever walks it in reverse, removing, acts as this one; or NULL. What carries its rights
 * (access.h) then goes after everything else and one by one, whatever it depends on itself.
 */
struct graph_record {
    const char *id;
    const struct value *attributes;
    const char *const *dependencies;
    size_t n_dependencies;
};
int graph_from_records(const struct graph_record *records, size_t n_records,
                       const struct graph_account *account, struct graph **ret,
                       struct error *error);

/* A kind's place in the default order; kinds that are not in the table come with Deployment. */
uint16_t kind_rank(const char *api_version, const char *kind);

#endif
