/*
 * The processes of a pool, in a list: which of them serves a need, may be ended, or has to make
 * room for others.
 *
 * Not locked.
 */
#pragma once

#include <sys/queue.h>

#include "runtimes/terraform/need.h"
#include "runtimes/terraform/provider.h"
#include "runtimes/terraform/quota.h"

enum pooled_phase { POOLED_STARTING, POOLED_READY, POOLED_FAILED };

struct pooled {
    struct instance base;    /* first */
    struct package *package; /* that its program is of */
    LIST_ENTRY(pooled) entry;
    char key[HASH_HEX_SIZE];
    char *namespace_name;         /* whose it is */
    int64_t first_memory, memory; /* bytes: when it was ready, and when it was last looked at */
    enum pooled_phase phase;
    struct error error; /* of the start */
    bool is_given_up; /* the caller who started it had no more time, or was cancelled */
    unsigned users;     /* who use it, or wait for it */
    unsigned uses;
    bool is_retired; /* it is given to nobody any more */
    char *retired_for; /* the namespace that waited for its first process; or NULL */
    int64_t retired_at;
    bool is_beyond; /* it was started beyond the limit of memory (quota.h) */
    int64_t idle_since;
};

LIST_HEAD(pooled_list, pooled);

/* Takes the package over. It is starting. */
struct pooled *pooled_add(struct pooled_list *list, struct provider *provider,
                          struct package *package, const struct need *need);
/* When it is in no list. */
void pooled_free(struct pooled *pooled);

/* Reads how much memory it has. */
void pooled_look(struct pooled *pooled);
/* It has served enough, has grown, has left a call without an answer, or has died. */
bool pooled_is_worn(const struct pooled *pooled);

/* NULL: none serves that need. Those that are worn are retired. */
struct pooled *pooled_find(struct pooled_list *list, const struct provider *provider,
                           const char *key);
/* The one that was not used for the longest time, of a namespace or (NULL) of all; NULL: all are in
 * use. */
struct pooled *pooled_find_idle(struct pooled_list *list, const char *namespace_name);
/* Those to end so that a package of so many bytes has room in a cache: as few as possible that are
 * idle, and were not used for the longest time. False: there is no room without them, either. */
bool pooled_find_room(struct pooled_list *list, struct cache *cache, uint64_t bytes,
                      struct pooled *ret[QUOTA_PROCESSES], size_t *ret_n);
/* The largest that is not retired, of the namespace whose processes have the most memory; NULL: all
 * are retired. */
struct pooled *pooled_find_largest(struct pooled_list *list);
/* If together they have more than quota_most_memory(), as they were last looked at: the one that
 * has grown by most since it was ready, of the namespace whose processes have the most memory;
 * NULL: they have not. Those that are starting are neither counted nor found. */
struct pooled *pooled_find_grown(struct pooled_list *list, int64_t memory_limit);
/* Retires that one for a namespace, unless one was retired for it within the last `interval` and
 * has not ended yet: however many callers of a namespace wait, one process makes room. Returns when
 * that was. All times in ms. */
int64_t pooled_retire(struct pooled_list *list, const char *namespace_name, int64_t now,
                      int64_t interval);

/* What quota.h has to say of one more for a namespace. */
enum quota_answer pooled_ask(struct pooled_list *list, const char *namespace_name,
                             int64_t memory_limit);
