/*
 * No object may end the operator at each start. Whatever ends the process (a defect, a lack of
 * memory) comes again with the operation over which it ended, and nobody else would be served.
 *
 * The process that reconciles has a Lease for this, which it gives up when it ends in order: after
 * SIGTERM, or after it lost the Lease of the election. A process that finds this Lease with another
 * holder knows that the holder died, and is careful from then on: it records each object in an
 * annotation of the Lease before its operation begins. As long as all goes well, nothing is
 * recorded, and the check of a Ready Spec writes nothing; so after the first death it is not known
 * what was under way. (The Lease of the election cannot tell: its holder changes, and there may be
 * no election.)
 *
 * When the process dies again, all objects that were under way are suspects. They come last, when
 * all others have begun and a few seconds passed, or after two minutes; the least suspected first,
 * and alone: the next one has its turn when the operation of this one has ended, or after a time
 * that doubles with each death, so that waiting for health does not hold up the others for long.
 * Of the deaths that follow, only those count that came in the object's own turn, since innocent
 * ones are often under way, too; or later, if no other suspect was under way. An object whose
 * operation ends is no suspect any more, unless the operation was put off (no memory, say) or is to
 * be tried again.
 *
 * After QUARANTINE_DEATHS an object is held, and its status says so. A Spec rests there
 * (Ready=False, Quarantined) until its generation changes, or somebody requests a reconcile; a
 * Rollback or a Destroy of it is refused. When it is let go, it is recorded in any case, and one
 * more death holds it again. A Preview has failed.
 *
 * CAREFUL_TIME without a death ends all that. What cannot be recorded begins all the same: this
 * must not be one more reason for which nothing goes on. There is room for LIMIT_SUSPECTS objects.
 * One more takes the place of another (suspects.h), or a namespace with many long operations would
 * hide what ends the process.
 *
 * Several operations that begin at once are recorded with one write. Thread-safe.
 */
#pragma once

#include <stddef.h>

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define QUARANTINE_DEATHS 3
#define QUARANTINED       "Quarantined" /* the reason */

#define QUARANTINE_RELEASE "release:" /* begins the key of a Release; that of a Spec is bare */

struct quarantine;

struct quarantine_config {
    struct kube_client *client;
    const struct clock_source *clock;
    const char *namespace_name, *name; /* of the Lease */
    const char *identity;              /* of this process */
};

/* Strings are borrowed. Once this process may act, before anything is reconciled: reads what the
 * process before it left. */
struct quarantine *quarantine_new(const struct quarantine_config *config);
/* The end is in order: what goes on from now on is in doubt no more. Accepts NULL. */
void quarantine_end(struct quarantine *quarantine);
/* Accepts NULL. */
void quarantine_free(struct quarantine *quarantine);
DEFINE_CLEANUP(struct quarantine *, quarantine_free)

/* From time to time: records what has ended. ready: how many keys are ready to be reconciled,
 * of Specs and of Releases; SIZE_MAX: it is not known yet which there are. */
void quarantine_tick(struct quarantine *quarantine, size_t ready);

/* Once it is known which objects there are: who waits and is not there any more is forgotten.
 * is_there: asked with the lock. */
void quarantine_forget_absent(struct quarantine *quarantine,
                              bool (*is_there)(void *arg, const char *key), void *arg);

/* Why an object is held, with a hint where to look. kind: "Spec", say. */
void quarantine_explain(struct error *ret, const char *kind);

/* All of these accept NULL, and do nothing then. key: "namespace/name" of a Spec, and
 * "release:namespace/name" of a Preview. */

/* ms until it may be asked again whether the operation may begin; 0: it may. */
int64_t quarantine_wait(struct quarantine *quarantine, const char *key);
/* Before the operation begins. False: it must not, and is to be held. was_held: the status says
 * that it was. Blocks until that is recorded, if it is to be. */
bool quarantine_enter(struct quarantine *quarantine, const char *key, bool was_held);
/* Nothing of it is under way (any more). has_ended: its operation came to its end; else it was put
 * off, or is tried again, and a suspect stays one. */
void quarantine_leave(struct quarantine *quarantine, const char *key, bool has_ended);
/* Its status says that it is held. */
void quarantine_forget(struct quarantine *quarantine, const char *key);
