/*
 * Finds providers and makes them ready to run: asks the sources for the newest version that will
 * do, fetches its package, checks its hashes and keeps a copy (package/cache.h).
 *
 * The sources are asked one after the other: the filesystem mirror, the network mirror, the
 * registry of the provider's own host. The first that has a version that will do is taken, even if
 * a later one has a newer version.
 *
 * That is done by a few threads of its own, one provider at a time each, and one thread at a time
 * for each provider. Namespaces take turns, and their parts of the queue and of the results are
 * bounded (looks.h). A caller waits for a moment; then it gets an error, and asks again later. What
 * has failed is tried again after a while, longer each time; until then its error is the answer.
 *
 * A version that was found stays the one until the operator ends. While a source cannot be reached,
 * a Spec gets the version that it has used so far, if there is a copy (recorded.h).
 *
 * Thread-safe.
 */
#pragma once

#include "runtimes/terraform/finder_fetch.h"
#include "runtimes/terraform/known.h"

struct finder;

/* Nothing is started yet. */
struct finder *finder_new(const struct finder_config *config);
/* Ends its threads, and downloads that are under way. Nothing may be asked any more. Accepts NULL.
 */
void finder_stop(struct finder *finder);
/* When all that was found is given back. Accepts NULL. */
void finder_free(struct finder *finder);

/* Who looks for what. Borrowed. */
struct finder_ask {
    const char *namespace_name;
    const struct source *allowed; /* the flag's, with its constraint */
    const struct source *wanted;  /* the Spec's */
    const struct known *known;    /* what the Spec has used; or NULL */
};

/*
 * deadline: ms, monotonic. *ret: found_done().
 *   ERR_NOT_FOUND ProviderNotFound; ERR_INVALID ProviderChecksum, ProviderPackageInvalid
 *   ERR_UNAVAILABLE ProviderDownloading: it is under way, or the namespace wants too many
 *   ERR_UNAVAILABLE, ERR_INVALID ProviderDownloadFailed; ERR_FORBIDDEN ProviderHostNotAllowed
 *   ERR_UNAVAILABLE ProviderCacheFull, ProviderCacheFailed
 */
int finder_find(struct finder *finder, const struct finder_ask *ask, int64_t deadline,
                struct cancel *cancel, struct found *ret, struct error *error);

/* What was found for this is not what was expected: it is looked for again when it is asked for the
 * next time, if the last look is a while ago. */
void finder_doubt(struct finder *finder, const struct source *wanted);
