/*
 * Which process of a provider a resource needs: what decides if it may share one with others.
 *
 * Immutable: a step keeps it until it is applied.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/value/value.h"
#include "runtimes/terraform/known.h"
#include "runtimes/terraform/source.h"

struct need {
    struct source source;
    char *namespace_name;
    const struct value *configuration; /* of the provider, or NULL */
    const struct value *environment;   /* environment.h; or NULL */
    struct known *known;               /* which packages of the provider may run; or NULL */
    char key[HASH_HEX_SIZE]; /* of the configuration, the environment and the owner: the same for
                                those who may share a process of one package */
};

/* Who needs it. Borrowed. */
struct need_owner {
    const char *namespace_name;
    const char *account;             /* the ServiceAccount's name, or NULL */
    const struct value *environment; /* or NULL */
    struct known *known;             /* or NULL */
    bool is_preview; /* of resources that are not the Spec's: whoever wrote them must not find what
                        the Spec left in a process, or in its folder */
};

/* configuration: resolved, without unknown values; or NULL. */
struct need *need_new(const struct source *source, const struct need_owner *owner,
                      const struct value *configuration);
void need_free(struct need *need);
DEFINE_CLEANUP(struct need *, need_free)

/* Hides what is sensitive of the configuration and the environment: a provider may quote it. */
void need_redact(const struct need *need, struct error *error);
