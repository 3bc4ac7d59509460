/*
 * What a provider has to say about a call, as an error of ours.
 */
#ifndef RUNTIMES_TERRAFORM_PLUGIN_DIAGNOSTICS_H
#define RUNTIMES_TERRAFORM_PLUGIN_DIAGNOSTICS_H

#include <tfplugin.pb-c.h>

#include "engine/base/error.h"
#include "engine/base/path.h"

/* root: what paths of attributes begin with: "attributes", "extensions.providerMeta". ERR_INVALID
 * ProviderError, of the first error and how many there are; 0: there are only warnings. */
int diagnostics_check(Tfplugin__Diagnostic *const *diagnostics, size_t n, const char *root,
                      struct error *error);

/* Adds the steps of a path. */
void diagnostics_add_path(struct path *to, const Tfplugin__Path *path);

#endif
