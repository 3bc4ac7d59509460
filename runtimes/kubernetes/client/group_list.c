#include "runtimes/kubernetes/client/group_list.h"

#include "engine/base/str.h"
#include "engine/threads/locked.h"

/* Bytes of the list of a server that a tenant chose; a longer one is read again. */
#define MOST_KEPT (512u << 10)

void group_list_init(struct group_list *list, struct kube_client *client,
                     const struct clock_source *clock)
{
    *list = (struct group_list){.client = client, .clock = clock};
    pthread_mutex_init(&list->lock, NULL);
}

void group_list_done(struct group_list *list)
{
    value_unref(list->groups);
    pthread_mutex_destroy(&list->lock);
}

/* *ret_memory: bytes that it takes. */
static int ask(struct group_list *list, const struct kube_wait *wait, const struct value **ret,
               size_t *ret_memory, struct error *error)
{
    struct kube_request request = {.method = "GET",
                                   .path = "/apis",
                                   .max_response = kube_client_kinds_limit(list->client),
                                   .cancel = wait->cancel};
    _cleanup_value_ const struct value *answer = NULL;
    const struct value *groups;
    int r = kube_wait_left(wait, &request.timeout, error);

    if (r >= 0)
        r = kube_do(list->client, &request, &answer, error);
    if (r < 0)
        return r;
    groups = value_get(answer, "groups");
    if (!str_equal(value_get_string(answer, "kind"), "APIGroupList") || value_count(groups) == 0)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list of groups");
    *ret = value_ref(groups);
    *ret_memory = value_memory(answer);
    return 0;
}

/* A reference; NULL: the list is older. */
static const struct value *kept(struct group_list *list, int64_t now, int64_t age)
{
    LOCKED(&list->lock);

    return list->groups && now - list->asked_at < age ? value_ref(list->groups) : NULL;
}

/* Unless another call asked later. */
static void keep(struct group_list *list, int64_t asked_at, const struct value *groups)
{
    LOCKED(&list->lock);

    if (!list->groups || asked_at >= list->asked_at) {
        value_assign(&list->groups, groups);
        list->asked_at = asked_at;
    }
}

int group_list_get(struct group_list *list, int64_t age, const struct kube_wait *wait,
                   const struct value **ret, struct error *error)
{
    int64_t now = list->clock->monotonic(list->clock);
    const struct value *groups = kept(list, now, age);
    size_t memory = 0;
    int r = 0;

    if (!groups) {
        r = ask(list, wait, &groups, &memory, error);
        if (r >= 0 && (!kube_client_kinds_limit(list->client) || memory <= MOST_KEPT))
            keep(list, now, groups);
    }
    if (r >= 0)
        *ret = groups;
    return r;
}
