/*
 * What a session has to do with the following of its Spec (follow/follow.h): where its objects are,
 * what it is about to read, and what it writes.
 */
#pragma once

#include "runtimes/kubernetes/session/session.h"

extern const struct runtime_follow_ops kube_follow_ops;

/* All accept a session without a following. */

/* The object is about to be read. */
void session_track(struct runtime_session *session, const struct kube_ref *ref);
/* It need not be read: it is as the record has it. */
bool session_knows_untouched(struct runtime_session *session, const struct kube_ref *ref,
                             const struct record *record);

/* Around a change. answer: the object afterwards, or NULL. */
void session_write_begins(struct runtime_session *session, const struct kube_ref *ref);
void session_write_ends(struct runtime_session *session, const struct kube_ref *ref,
                        const struct value *answer);

/* followed_values() of an object; 0 without a following. */
uint64_t session_verified_values(struct runtime_session *session, const struct kube_ref *ref);
void session_note_values(struct runtime_session *session, const struct kube_ref *ref,
                         uint64_t values);

/* follows_config of a runtime's sessions. */
void *kube_keep_session(void *session);
void kube_release_session(void *session);
