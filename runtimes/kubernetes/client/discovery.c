#include "runtimes/kubernetes/client/discovery.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group_list.h"

#define MOST_RESOURCES 10000 /* of a group and version that are looked at */

#define REFRESH_AFTER 1000 /* ms: how old an answer may be that says no */

/* With its place in the map of the group. */
#define RECORD_BYTES (sizeof(struct record) + 128)

/* A kind's record; what it was before a CRD changed stays with the discovery. */
struct record {
    struct kube_kind kind;
    struct record *next;
};

/* A group and version. Of the calls that need to ask the server for it, one does; the others wait
 * until that one has ended. */
struct group {
    char *group_version;
    unsigned n_users; /* calls that have it; it is not freed meanwhile */
    int64_t used_at;
    struct strmap kinds; /* of struct kube_kind, by kind */
    struct record *records;
    bool is_read; /* kinds are those of the server's answer, and were not forgotten since */
    int64_t read_at;
    unsigned n_forgotten; /* calls of kube_discovery_forget() */

    bool is_asked;         /* a call is asking the server */
    unsigned n_asked;      /* how often that ended */
    struct error *failure; /* how it last ended for all who waited; NULL: with an answer, or for a
                              reason of the call's own */
    pthread_cond_t ended;
};

struct kube_discovery {
    struct kube_client *client;
    const struct clock_source *clock;
    pthread_mutex_t lock; /* of the groups; not held while the server is asked */
    struct strmap groups; /* those with records stay */
    size_t bytes, most;   /* of the records */
    struct group_list list;
};

/* ---- Lifetime ---- */

struct kube_discovery *kube_discovery_new(struct kube_client *client,
                                          const struct clock_source *clock)
{
    struct kube_discovery *discovery = NEW(struct kube_discovery);

    discovery->client = client;
    discovery->clock = clock;
    discovery->most =
        kube_client_kinds_limit(client) ? KUBE_TENANT_DISCOVERY_BYTES : KUBE_DISCOVERY_BYTES;
    pthread_mutex_init(&discovery->lock, NULL);
    strmap_init(&discovery->groups);
    group_list_init(&discovery->list, client, clock);
    return discovery;
}

static void record_free(struct record *record)
{
    free((void *)(uintptr_t)record->kind.kind);
    free((void *)(uintptr_t)record->kind.plural);
    free(record);
}

static void group_free(struct group *group)
{
    strmap_done(&group->kinds);
    for (struct record *record = group->records, *next; record; record = next) {
        next = record->next;
        record_free(record);
    }
    pthread_cond_destroy(&group->ended);
    free(group->failure);
    free(group->group_version);
    free(group);
}

void kube_discovery_free(struct kube_discovery *discovery)
{
    if (!discovery)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&discovery->groups, e));)
        group_free(e->value);
    strmap_done(&discovery->groups);
    group_list_done(&discovery->list);
    pthread_mutex_destroy(&discovery->lock);
    free(discovery);
}

/* ---- The groups that are remembered; all with the lock ---- */

/* Of those whose records nobody can have, the one that was asked for longest ago; or NULL. */
static struct group *oldest_absent(const struct kube_discovery *discovery)
{
    struct group *oldest = NULL;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&discovery->groups, e));) {
        struct group *group = e->value;

        if (!group->n_users && !group->records && (!oldest || group->used_at < oldest->used_at))
            oldest = group;
    }
    return oldest;
}

static struct group *add_group(struct kube_discovery *discovery, const char *group_version)
{
    struct group *group = NEW(struct group), *gone = NULL;

    if (discovery->groups.count >= KUBE_DISCOVERY_GROUPS)
        gone = oldest_absent(discovery);
    if (gone)
        group_free(strmap_remove(&discovery->groups, gone->group_version));
    group->group_version = str_new(group_version);
    condition_init(&group->ended);
    strmap_init(&group->kinds);
    strmap_put(&discovery->groups, group->group_version, group);
    return group;
}

/* NULL: it is not remembered, and not to be made. */
static struct group *get_group(struct kube_discovery *discovery, const char *group_version,
                               bool is_made)
{
    struct group *group = strmap_get(&discovery->groups, group_version);

    if (!group && is_made)
        group = add_group(discovery, group_version);
    if (group)
        group->used_at = discovery->clock->monotonic(discovery->clock);
    return group;
}

static const struct kube_kind *known_kind(const struct group *group, const char *kind,
                                          const char *plural, bool namespaced)
{
    for (const struct record *record = group->records; record; record = record->next)
        if (strcmp(record->kind.kind, kind) == 0 && strcmp(record->kind.plural, plural) == 0 &&
            record->kind.namespaced == namespaced)
            return &record->kind;
    return NULL;
}

/* NULL: there is no room for it. */
static const struct kube_kind *record_kind(struct kube_discovery *discovery, struct group *group,
                                           const char *kind, const char *plural, bool namespaced)
{
    const struct kube_kind *known = known_kind(group, kind, plural, namespaced);
    size_t bytes = RECORD_BYTES + strlen(kind) + strlen(plural);
    struct record *record;

    if (known || bytes > discovery->most - discovery->bytes)
        return known;
    discovery->bytes += bytes;
    record = NEW(struct record);
    record->kind = (struct kube_kind){
        .group_version = group->group_version,
        .kind = str_new(kind),
        .plural = str_new(plural),
        .namespaced = namespaced,
    };
    record->next = group->records;
    group->records = record;
    return &record->kind;
}

static void take_resources(struct kube_discovery *discovery, struct group *group,
                           const struct value *resources)
{
    strmap_done(&group->kinds);
    strmap_init(&group->kinds);
    for (size_t i = 0; i < value_count(resources) && i < MOST_RESOURCES; i++) {
        const struct value *resource = value_at(resources, i);
        const char *plural = value_get_string(resource, "name");
        const char *name = value_get_string(resource, "kind");
        const struct kube_kind *kind;

        if (!plural || !name || strchr(plural, '/') || strmap_get(&group->kinds, name))
            continue; /* a subresource, or a second plural of the kind */
        kind = record_kind(discovery, group, name, plural,
                           value_bool(value_get(resource, "namespaced"), false));
        if (kind)
            strmap_put(&group->kinds, kind->kind, (void *)(uintptr_t)kind);
    }
}

/* ---- Asking for one group and version ---- */

/* Any proxy can answer 404. Only the server's own list of groups and versions shows that it does
 * not have this one. 0: it does not; negative: not known. */
static int confirm_absence(struct kube_discovery *discovery, const struct group *group,
                           const struct kube_wait *wait, struct error *error)
{
    _cleanup_value_ const struct value *groups = NULL;
    int r = group_list_get(&discovery->list, 0, wait, &groups, error);

    for (size_t i = 0; r >= 0 && i < value_count(groups); i++) {
        const struct value *versions = value_get(value_at(groups, i), "versions");

        for (size_t j = 0; j < value_count(versions); j++)
            if (str_equal(value_get_string(value_at(versions, j), "groupVersion"),
                          group->group_version))
                return err_set(error, ERR_UNAVAILABLE, "NotServed",
                               "the API server lists %s, but does not serve it yet",
                               group->group_version);
    }
    return r;
}

/* *ret: its resources, a reference; NULL: the server has no such group and version. */
static int ask_group(struct kube_discovery *discovery, const struct group *group,
                     const struct kube_wait *wait, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    const struct kube_kind all = {.group_version = group->group_version};
    struct kube_request request = {.method = "GET",
                                   .ref = {.kind = &all},
                                   .max_response = kube_client_kinds_limit(discovery->client),
                                   .cancel = wait->cancel};
    const struct value *resources;
    struct error why = {0};
    int r = kube_wait_left(wait, &request.timeout, &why);

    if (r >= 0)
        r = kube_do(discovery->client, &request, &answer, &why);
    if (r == ERR_UNAVAILABLE && str_equal(why.reason, "NotServed") &&
        !str_equal(group->group_version, "v1")) /* the list has no core group, of one version */
        return confirm_absence(discovery, group, wait, error);
    if (r < 0)
        return err_copy(error, &why);
    resources = value_get(answer, "resources");
    if (!str_equal(value_get_string(answer, "kind"), "APIResourceList") ||
        !value_is(resources, VALUE_ARRAY))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list of resources");
    *ret = value_ref(resources);
    return 0;
}

/* The call's own cancel or deadline ended it: the server's answer is not known. */
static bool is_own_end(int r)
{
    return r == ERR_CANCELLED || r == ERR_TIMEOUT;
}

/* With the lock, which is not held while the server is asked. */
static int read_group(struct kube_discovery *discovery, struct group *group,
                      const struct kube_wait *wait, struct error *error)
{
    _cleanup_value_ const struct value *resources = NULL;
    unsigned n_forgotten = group->n_forgotten;
    struct error why = {0};
    int r;

    group->is_asked = true;
    pthread_mutex_unlock(&discovery->lock);
    r = ask_group(discovery, group, wait, &resources, &why);
    if (r < 0)
        err_wrap(&why, "discovery of %s", group->group_version);
    pthread_mutex_lock(&discovery->lock);
    if (r >= 0) {
        take_resources(discovery, group, resources);
        group->is_read = group->n_forgotten == n_forgotten;
        group->read_at = discovery->clock->monotonic(discovery->clock);
    }
    free(group->failure);
    group->failure = r < 0 && !is_own_end(r) ? err_new(&why) : NULL;
    group->is_asked = false;
    group->n_asked++;
    pthread_cond_broadcast(&group->ended);
    return r < 0 ? err_copy(error, &why) : 0;
}

/* ---- Waiting for the call that asks ---- */

struct waiter {
    struct kube_discovery *discovery;
    struct group *group;
    bool is_cancelled;
};

static void on_cancel(void *arg)
{
    struct waiter *waiter = arg;
    LOCKED(&waiter->discovery->lock);

    waiter->is_cancelled = true;
    pthread_cond_broadcast(&waiter->group->ended);
}

/* With the lock, until the server was asked another time than n_asked. */
static int wait_for_end(const struct waiter *waiter, unsigned n_asked, int64_t left,
                        const struct kube_wait *wait, struct error *error)
{
    const struct group *group = waiter->group;
    int64_t until = system_clock.monotonic(&system_clock) + left;

    while (group->n_asked == n_asked) {
        if (waiter->is_cancelled)
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(wait->cancel));
        if (system_clock.monotonic(&system_clock) >= until)
            return err_set(error, ERR_TIMEOUT, "Timeout",
                           "discovery of %s: no answer within %lld ms", group->group_version,
                           (long long)left);
        system_clock.wait(&system_clock, &waiter->group->ended, &waiter->discovery->lock, until);
    }
    return group->failure ? err_copy(error, group->failure) : 0;
}

/* With the lock. Waits until the call that is asking ends, or as long as this one may. An error of
 * the server is that of all who waited for it. */
static int wait_for_answer(struct kube_discovery *discovery, struct group *group,
                           const struct kube_wait *wait, struct error *error)
{
    struct waiter waiter = {discovery, group, false};
    struct cancel_listener *listener;
    unsigned n_asked = group->n_asked;
    int64_t left;
    int r = kube_wait_left(wait, &left, error);

    if (r < 0)
        return r;
    pthread_mutex_unlock(&discovery->lock); /* on_cancel() takes it, at once if it has fired */
    listener = wait->cancel ? cancel_listen(wait->cancel, on_cancel, &waiter) : NULL;
    pthread_mutex_lock(&discovery->lock);
    r = wait_for_end(&waiter, n_asked, left, wait, error);
    pthread_mutex_unlock(&discovery->lock);
    if (listener)
        cancel_unlisten(wait->cancel, listener);
    pthread_mutex_lock(&discovery->lock);
    return r;
}

/* ---- Questions ---- */

static bool is_recent(const struct kube_discovery *discovery, const struct group *group)
{
    int64_t now = discovery->clock->monotonic(discovery->clock);

    return group->is_read && now - group->read_at < REFRESH_AFTER;
}

static const struct kube_kind *read_kind(const struct group *group, const char *kind)
{
    return group->is_read ? strmap_get(&group->kinds, kind) : NULL;
}

/* With the lock. */
static int find_in_group(struct kube_discovery *discovery, struct group *group, const char *kind,
                         const struct kube_wait *wait, const struct kube_kind **ret,
                         struct error *error)
{
    const struct kube_kind *found;
    int r = 0;

    while (!(found = read_kind(group, kind)) && !is_recent(discovery, group)) {
        if (!group->is_asked) {
            r = read_group(discovery, group, wait, error);
            if (r >= 0) /* what was forgotten meanwhile is an answer to this call all the same */
                found = strmap_get(&group->kinds, kind);
            break;
        }
        r = wait_for_answer(discovery, group, wait, error);
        if (r < 0)
            break;
    }
    if (r < 0)
        return r;
    if (!found)
        return err_set(error, ERR_NOT_FOUND, "KindNotServed", "the API server has no kind %s in %s",
                       kind, group->group_version);
    *ret = found;
    return 0;
}

int kube_discovery_find(struct kube_discovery *discovery, const char *group_version,
                        const char *kind, const struct kube_wait *wait,
                        const struct kube_kind **ret, struct error *error)
{
    struct group *group;
    int r;
    LOCKED(&discovery->lock);

    group = get_group(discovery, group_version, true);
    group->n_users++;
    r = find_in_group(discovery, group, kind, wait, ret, error);
    group->n_users--;
    return r;
}

static const struct value *versions_of(const struct value *groups, const char *name, size_t length)
{
    for (size_t i = 0; i < value_count(groups); i++) {
        const char *group = value_get_string(value_at(groups, i), "name");

        if (group && strlen(group) == length && strncmp(group, name, length) == 0)
            return value_get(value_at(groups, i), "versions");
    }
    return NULL;
}

int kube_discovery_find_any(struct kube_discovery *discovery, const char *group_version,
                            const char *kind, const struct kube_wait *wait,
                            const struct kube_kind **ret, struct error *error)
{
    const char *slash = strchr(group_version, '/');
    _cleanup_value_ const struct value *groups = NULL;
    const struct value *versions;
    struct error absent = {0};
    int r = kube_discovery_find(discovery, group_version, kind, wait, ret, &absent);

    if (r != ERR_NOT_FOUND || !slash)
        return r < 0 ? err_copy(error, &absent) : r;
    r = group_list_get(&discovery->list, REFRESH_AFTER, wait, &groups, error);
    if (r < 0)
        return r;
    versions = versions_of(groups, group_version, (size_t)(slash - group_version));
    for (size_t i = 0; i < value_count(versions); i++) {
        const char *version = value_get_string(value_at(versions, i), "groupVersion");
        struct error problem = {0};

        if (!version || strcmp(version, group_version) == 0 ||
            strncmp(version, group_version, (size_t)(slash - group_version) + 1) != 0)
            continue;
        r = kube_discovery_find(discovery, version, kind, wait, ret, &problem);
        if (r != ERR_NOT_FOUND)
            return r < 0 ? err_copy(error, &problem) : r;
    }
    return err_copy(error, &absent);
}

const struct kube_kind *kube_discovery_known(struct kube_discovery *discovery,
                                             const char *group_version, const char *kind)
{
    LOCKED(&discovery->lock);
    const struct group *group = get_group(discovery, group_version, false);

    return group ? read_kind(group, kind) : NULL;
}

const char *kube_discovery_similar(struct kube_discovery *discovery, const char *group_version,
                                   const char *kind)
{
    struct similar similar;
    struct group *group;

    similar_begin(&similar, kind);
    pthread_mutex_lock(&discovery->lock);
    group = get_group(discovery, group_version, false);
    for (struct strmap_entry *e = NULL; group && (e = strmap_next(&group->kinds, e));)
        similar_offer(&similar, e->key);
    pthread_mutex_unlock(&discovery->lock);
    return similar.found;
}

void kube_discovery_forget(struct kube_discovery *discovery, const char *group_version)
{
    LOCKED(&discovery->lock);
    struct group *group = get_group(discovery, group_version, false);

    if (group) {
        group->is_read = false;
        group->n_forgotten++;
    }
}
