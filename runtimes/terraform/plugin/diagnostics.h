/*
 * What a provider has to say about a call: errors, as one of ours, and warnings.
 *
 * Each is one line, "attributes.rules[2]: Bad rule: why", and is told once. The details of a
 * provider may have pages: what is left out is said.
 */
#pragma once

#include "engine/value/path.h"
#include "runtimes/terraform/plugin/plugin.h"

#define DIAGNOSTIC_BYTES  800  /* of one; a longer one is cut with "…" */
#define DIAGNOSTICS_BYTES 2400 /* of all in an error; the rest is counted */
#define WARNINGS_MOST     8    /* that are kept */

/* What a provider has warned of without an error. Zeroes: nothing. */
struct warnings {
    char *items[WARNINGS_MOST];
    size_t count, left_out;
};
void warnings_done(struct warnings *warnings);
/* Adds those that are not there. */
void warnings_add(struct warnings *to, const struct warnings *from);

/* root: what paths of attributes begin with: "attributes", "extensions.providerMeta". ERR_INVALID
 * ProviderError: all errors, then the warnings. 0: there are only warnings, which are added to
 * those of `warnings` (NULL: they are dropped). */
int diagnostics_check(Tfplugin__Diagnostic *const *diagnostics, size_t n, const char *root,
                      struct warnings *warnings, struct error *error);

/* plugin_call(), and what the provider says in its answer. */
struct plugin_asking {
    struct plugin *plugin;
    const struct plugin_call *call;
    const char *root; /* as above, and `warnings` */
    struct warnings *warnings;
    enum grpc_delivery *ret_delivery; /* may be NULL */
};
/* Errors of both. *ret: the answer, also where the provider reports errors in it. */
int plugin_ask(const struct plugin_asking *asking, enum plugin_method method,
               const ProtobufCMessage *request, void *ret, struct error *error);

/* Adds the steps of a path. */
void diagnostics_add_path(struct path *to, const Tfplugin__Path *path);
