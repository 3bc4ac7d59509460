/*
 * The API server's list of its groups and their versions (/apis), as it was last given.
 * Thread-safe; the lock is not held while the server is asked.
 */
#pragma once

#include <pthread.h>

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

struct group_list {
    struct kube_client *client;
    const struct clock_source *clock;
    pthread_mutex_t lock;       /* of all below */
    const struct value *groups; /* NULL: not yet read */
    int64_t asked_at;           /* ms, monotonic */
};

void group_list_init(struct group_list *list, struct kube_client *client,
                     const struct clock_source *clock);
void group_list_done(struct group_list *list);

/*
 * The groups, an array; a reference. age: ms that may have passed since they were asked for; 0: the
 * server is asked now. Several calls may ask at once: none takes the answer to a request that
 * another call sent before.
 */
int group_list_get(struct group_list *list, int64_t age, const struct kube_wait *wait,
                   const struct value **ret, struct error *error);
