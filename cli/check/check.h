/*
 * Whether a Spec is right, as far as that can be told without a cluster: the schema of the API, the
 * engine's own checks (engine/spec), the graph, and values of Secrets that stand in it in clear.
 *
 * Each finding has the place in the input. Pure.
 */
#pragma once

#include "cli/convert/convert.h"

/* crds/api.kusion.io_specs.yaml, as it was at build time. */
extern const char check_definition[];

struct checked {
    size_t n_resources;
};

/*
 * Checks each Spec and each Kusion spec of the source by itself, and all manifests together, as the
 * Spec that they would become. options: of the manifests; a name is not needed.
 */
void check_source(const struct convert_source *source, const struct convert_options *options,
                  struct findings *findings, struct checked *ret);
