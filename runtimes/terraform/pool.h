/*
 * The processes of providers.
 *
 * A process serves everybody with the same provider, version, configuration, namespace and
 * ServiceAccount: what one tenant configured is never another one's. Previews of other resources
 * than the Spec's have processes of their own (need.h). It is started when it is first
 * needed, stopped when it was idle for a while, and started anew when it has died or served many
 * calls, or has grown by much memory, because providers keep memory of each call; or when it has
 * left a call without an answer, because it may do so with all that follow.
 *
 * Whoever needs a process first starts it, and others wait for that. If it ends the start because
 * its own time is over, or it was cancelled, one of the others begins anew: each has its own
 * deadline. Any other failure of the start is everybody's.
 *
 * The number of processes and their memory are bounded (quota.h): at the bound an idle one is
 * stopped, or the caller waits. If a namespace that has no process waits for 10 s, the largest one
 * of the namespace with the most memory is retired: nobody gets it any more, and it ends when the
 * calls to it have. So a first process is waited for as long as somebody else's longest call takes.
 *
 * A process may grow during a call, by what its arguments ask for. So while there are processes,
 * their memory is looked at five times a second. If they have much more than the limit together,
 * the one that has grown by most of the namespace with the most memory is killed, and its calls
 * fail (ProviderMemory); and no process gets more from the kernel than all may have.
 *
 * Idle ones are stopped as well when the copy of another package needs the room that theirs take
 * (package/cache.h).
 *
 * Thread-safe.
 */
#pragma once

#include "runtimes/terraform/finder.h"
#include "runtimes/terraform/need.h"
#include "runtimes/terraform/provider.h"

struct pool;

struct pool_config {
    struct finder_config finder;   /* cache: NULL: in the folder; make_room is the pool's */
    const struct source *allowed;  /* providers that may run */
    size_t n_allowed;
    const char *folder;            /* for temporary folders of processes; NULL: none may run */
    int64_t memory;                /* bytes of all processes; 0: no limit */
    int64_t start_time; /* ms for a process to start and to be configured; 0: 60 s */
    bool allow_unconfined;         /* plugin.h */
};

/* The configuration is borrowed. Nothing is started yet. */
struct pool *pool_new(const struct pool_config *config);
/* When no process is in use. */
void pool_free(struct pool *pool);

/* The provider of the flag --terraform-provider that allows this one; NULL: none does. */
const struct source *pool_find_allowed(const struct pool *pool, const struct source *source);
/* Why it may not run: that none does, and which are allowed. free() */
char *pool_refusal(const struct pool *pool, const struct source *source);

/* Gives a process that was configured; starts it if it is not there. ERR_UNSUPPORTED
 * ProviderNotAllowed; ERR_FORBIDDEN ProviderChanged (known.h); the errors of finder_find(), of the
 * start and of the configuration. */
int pool_take(struct pool *pool, struct need *need, const struct plugin_call *call,
              struct instance **ret, struct error *error);
void pool_give_back(struct pool *pool, struct instance *instance); /* accepts NULL */
