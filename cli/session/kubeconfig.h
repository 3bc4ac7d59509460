/*
 * Kubeconfigs as kubectl reads them: several files are merged into one, and the chosen context is
 * told. Pure functions over values.
 *
 * Of two entries with one name, that of the earlier file counts, and so does the first
 * current-context. Relative file names count from the folder of the file that has them; they are
 * absolute after merging.
 * (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig)
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

struct kubeconfig_file {
    const char *folder;        /* absolute */
    const struct value *value; /* the file's content */
};

/* A reference: {clusters, contexts, users, current-context}. */
const struct value *kubeconfig_merge(const struct kubeconfig_file *files, size_t count);

struct kubeconfig_choice {
    const char *context; /* all are borrowed from the merged value, or from `context` */
    const char *cluster_name, *user_name;
    const struct value *cluster; /* NULL: none */
    const struct value *user;    /* NULL: none */
};

/* context: NULL: the current one. ERR_INVALID InvalidConfig names the contexts that there are. */
int kubeconfig_choose(const struct value *merged, const char *context,
                      struct kubeconfig_choice *ret, struct error *error);

/*
 * The merged kubeconfig with this context alone, for kube_config_read(): its user is replaced by
 * `user` (NULL: it has none). A reference.
 */
const struct value *kubeconfig_only(const struct value *merged,
                                    const struct kubeconfig_choice *choice,
                                    const struct value *user);
