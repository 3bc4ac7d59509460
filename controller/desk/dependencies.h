/*
 * Specs that wait for Specs: which one depends on which (`dependsOn`), who has become ready in
 * which generation, and who is to be looked at when that changes.
 *
 * A Spec is known by its reconciles: each reads it, and notes what it depends on and how far it is.
 * So shortly after a start not all is known. Nothing is known of Specs that this process does not
 * watch.
 *
 * A Spec that is held (it waits) is put into the queue when one that it depends on is listed, gets
 * another generation, becomes ready or goes; and when a Spec that depends on it goes, or what is
 * between them changes, as a cycle may be closed or opened by that.
 *
 * All of this has one lock, and a tenant may have thousands of Specs that depend on each other. So
 * what is farther than DESK_WAYS is as if it were not there: a cycle is not named then, and who
 * waits is looked at again after its `interval`.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/base/limits.h"
#include "engine/store.h"

struct desk;

/* As the Spec was read. Nothing is noted of one that is not listed. */
struct desk_needs {
    const struct spec_key *on;
    size_t count;
    const char *user; /* that it acts as; NULL: the operator itself */
};
void desk_note_needs(struct desk *desk, const struct spec_key *spec,
                     const struct desk_needs *needs);

/* This generation has become ready, and is not held by a Rollback or a Destroy. 0: none is. */
void desk_note_ready_generation(struct desk *desk, const struct spec_key *spec, const char *uid,
                                int64_t generation);

/* What is known of a Spec that another one depends on. */
struct desk_readiness {
    bool is_listed;
    int64_t generation; /* the one that has become ready; 0: none, or it is not known */
    const char *reason; /* of its condition Ready, as a label; NULL: not known */
};
struct desk_readiness desk_readiness_of(struct desk *desk, const struct spec_key *spec,
                                        const char *uid);

/* The Spec waits, or does not any more. To be set before it is looked at what it waits for. */
void desk_set_held(struct desk *desk, const struct spec_key *spec, bool is_held);

#define DESK_CYCLE 16    /* Specs of a cycle that are named at most */
#define DESK_WAYS  10000 /* from a Spec to one that it depends on: that are followed at once */

/* Keys "namespace/name"; free() each. */
struct desk_path {
    char *keys[DESK_CYCLE];
    size_t count;
    bool is_cut; /* it is longer */
};
void desk_path_done(struct desk_path *path);

/* A shortest way from one of `from` to `to`, both included, along what they depend on. False: there
 * is none, or it is farther than DESK_WAYS. */
bool desk_find_path(struct desk *desk, const struct spec_key *from, size_t n_from,
                    const struct spec_key *to, struct desk_path *ret);

/* A Spec that depends on another one. */
struct desk_dependent {
    char *namespace_name, *name; /* owned */
    char *user;                  /* owned; that it acts as, or NULL */
    bool is_deleting;
};
struct desk_dependents {
    struct desk_dependent *items;
    size_t count, capacity;
    bool is_complete; /* false: a Spec of that namespace is being deleted, and was not read yet */
};
/* Those that are listed. Without those on which it depends itself. */
void desk_dependents_of(struct desk *desk, const struct spec_key *spec,
                        struct desk_dependents *ret);
void desk_dependents_done(struct desk_dependents *dependents);
