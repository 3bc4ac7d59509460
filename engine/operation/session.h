/* Sessions with runtimes, and how an operation's calls are made. */
#pragma once

#include "engine/operation/node.h"

/* A runtime, and this operation's session with it. The first thread that needs the session opens
 * it. All fields but `runtime` are under the operation's lock. */
struct binding {
    struct runtime *runtime;
    bool is_opening;                 /* a thread is in the runtime's open() */
    struct runtime_session *session; /* NULL: not open */
    struct error *error;             /* of open(), which failed; or NULL */
    int64_t failed_at;               /* ms, monotonic */
};

/* The runtime of a node that has one. */
const struct runtime_ops *operation_ops(const struct node *node);
/* That of a type; NULL: there is no such runtime. */
struct binding *operation_binding(const struct operation *operation, const char *type);
void operation_free_bindings(struct operation *operation);
/* References to operation_config.followings, and their end. */
void operation_ref_followings(struct operation *operation,
                              struct runtime_following *const *followings);
void operation_unref_followings(struct operation *operation);

/* ms, monotonic; ms since 1970. */
int64_t operation_now(const struct operation *operation);
int64_t operation_wall_clock(const struct operation *operation);
/* Into the plan's arena, which visits share. */
const char *operation_text(struct operation *operation, const char *format, ...) PRINTF_LIKE(2, 3);
/* large: the slot of who makes the call, or NULL. */
struct runtime_call operation_call(struct operation *operation, struct slot *large);
/* A slot that is not taken. */
struct slot operation_slot(const struct operation *operation);
/* Waits until another thread has reset *is_busy, and broadcast `changed`. Under the lock.
 * ERR_CANCELLED: the operation was cancelled meanwhile. ERR_TIMEOUT: the deadline passed. */
int operation_wait_while(struct operation *operation, const bool *is_busy, int64_t deadline,
                         struct error *error);
/* The session of a node's runtime, opened if it was not. A thread that finds another one opening it
 * waits, as operation_wait_while() does. An error that may heal is kept for a second, then open()
 * is tried again. */
int operation_session(const struct node *node, struct runtime_session **ret, struct error *error);
int operation_open_session(struct operation *operation, struct binding *binding,
                           struct runtime_session **ret, struct error *error);
/* Reads the target's object with the node's session. large: the slot of who reads it. ret: as of
 * runtime_ops.read(). */
int operation_read(struct node *node, const struct runtime_target *target, struct slot *large,
                   struct runtime_outcome *ret, struct error *error);
/* No answer, or one that asks to try again; a refusal does not heal. */
bool operation_may_heal(const struct error *error);
