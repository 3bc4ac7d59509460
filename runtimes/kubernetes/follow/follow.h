/*
 * Following: what others do to the objects of a Spec, by watches of metadata.
 *
 * There is one watch for each combination of cluster, user, kind and namespace, of the objects that
 * have an owner label. All Specs that may share it do. It keeps what tracked.h says of each object
 * that a Spec follows, and nothing of others. Nobody learns anything that the Spec's account may
 * not list and watch itself; the right is checked again when a request of the watch begins, every
 * 200 to 300 s (client/watch.h).
 *
 * A Spec's following is whole while all of its watches are: each has listed, has not failed since,
 * and has shown an event or a bookmark within the last two minutes. At most 64 watches are opened
 * for the Specs of one namespace, and 1024 for all, and eight Specs follow the same object; what is
 * over that is not followed, and the following is not whole.
 *
 * A watch of another cluster (is_elsewhere) that is not authenticated any more, or finds a server
 * with another CA, tells all of its Specs, as if it had shown drift: only a look can say what the
 * cluster is now.
 *
 * Thread-safe. on_drift is called with the lock of this module.
 */
#pragma once

#include "engine/runtime.h"
#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define FOLLOW_WATCHES              1024
#define FOLLOW_WATCHES_OF_NAMESPACE 64
#define FOLLOW_SPECS_OF_OBJECT      8
#define FOLLOW_SILENCE              120000 /* ms without an event or bookmark: not whole any more */

struct follows;  /* of a runtime */
struct followed; /* of a Spec */

/* keep() and release() hold whatever a watch's client lives by (follow_place.keep). */
struct follows_config {
    const struct clock_source *clock;
    void *(*keep)(void *arg);
    void (*release)(void *arg);
};

struct follows *follows_new(const struct follows_config *config);
/* After all that is followed has ended. */
void follows_free(struct follows *follows);
/* The number of watches; for tests. */
size_t follows_count(struct follows *follows);

/* Where an object is, and who asks for it. Borrowed. */
struct follow_place {
    struct kube_client *client;
    const char *impersonate;   /* or NULL */
    const char *field_manager; /* the Spec's */
    struct kube_ref ref;       /* of the object */
    bool is_elsewhere;         /* in a cluster that the Spec chose (kubeConfig) */
    void *keep;
};

/* ---- One Spec ---- */

/* One reference. */
struct followed *followed_new(struct follows *follows, const struct spec_key *spec,
                              runtime_on_event *on_drift, void *arg);
struct followed *followed_ref(struct followed *followed);
void followed_unref(struct followed *followed);
/* Nothing is tracked any more, and on_drift does not run after this returns. */
void followed_end(struct followed *followed);

/* An operation begins to read: nothing is told until it is settled. */
void followed_hold(struct followed *followed);
/* From now on events of the object are noted. */
void followed_track(struct followed *followed, const struct follow_place *place);

/* Before and after a change of ours. answer: the object, or NULL. */
void followed_write_begins(struct followed *followed, const struct follow_place *place);
void followed_write_ends(struct followed *followed, const struct follow_place *place,
                         const struct value *answer);

/* Between the two, each object that stays is named. What is not is tracked no more. */
void followed_settle_begins(struct followed *followed);
void followed_settle(struct followed *followed, const struct follow_place *place,
                     const struct record *record);
void followed_settle_ends(struct followed *followed);
/* Instead of these: until the next followed_hold(), only the annotations that say how an object is
 * to be treated are told, also those that changed since the last one. */
void followed_listen(struct followed *followed);

/* An object of the Spec cannot be followed: it is not whole until the next settlement. */
void followed_miss(struct followed *followed, const char *why);

enum runtime_whole followed_state(struct followed *followed, struct error *why);

/* The watch is whole, and shows the object as the record has it: it need not be read. */
bool followed_is_untouched(struct followed *followed, const struct follow_place *place,
                           const struct record *record);
/* The fingerprint of our fields' values, when they were last found to be right; 0: never. */
uint64_t followed_values(struct followed *followed, const struct follow_place *place);
void followed_set_values(struct followed *followed, const struct follow_place *place,
                         uint64_t values);
