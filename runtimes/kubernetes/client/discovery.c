#include "runtimes/kubernetes/client/discovery.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

#define REFRESH_AFTER 1000 /* ms: how old an answer may be that says no */

/* A kind's record; what it was before a CRD changed stays with the discovery. */
struct record {
    struct kube_kind kind;
    struct record *next;
};

struct group {
    char *group_version;
    unsigned n_users; /* calls that have it; with used_at under the discovery's lock */
    int64_t used_at;
    pthread_mutex_t asking_lock; /* of all below; held while the server is asked */
    pthread_mutex_t
        lock;            /* of changes of kinds and is_read, for what does not ask; not held then */
    struct strmap kinds; /* of struct kube_kind, by kind */
    struct record *records;
    bool is_read;
    int64_t read_at;
};

struct kube_discovery {
    struct kube_client *client;
    const struct clock_source *clock;
    pthread_mutex_t lock; /* of groups */
    struct strmap groups; /* those with records stay */

    pthread_mutex_t list_lock; /* of all below; held while the server is asked */
    const struct value
        *list; /* of groups and their versions, as the server last gave it; NULL: not yet */
    int64_t list_read_at;
};

/* ---- Lifetime ---- */

struct kube_discovery *kube_discovery_new(struct kube_client *client,
                                          const struct clock_source *clock)
{
    struct kube_discovery *discovery = NEW(struct kube_discovery);

    discovery->client = client;
    discovery->clock = clock;
    pthread_mutex_init(&discovery->lock, NULL);
    pthread_mutex_init(&discovery->list_lock, NULL);
    strmap_init(&discovery->groups);
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
    pthread_mutex_destroy(&group->asking_lock);
    pthread_mutex_destroy(&group->lock);
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
    value_unref(discovery->list);
    pthread_mutex_destroy(&discovery->list_lock);
    pthread_mutex_destroy(&discovery->lock);
    free(discovery);
}

/* ---- The groups that are remembered ---- */

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
    pthread_mutex_init(&group->asking_lock, NULL);
    pthread_mutex_init(&group->lock, NULL);
    strmap_init(&group->kinds);
    strmap_put(&discovery->groups, group->group_version, group);
    return group;
}

/* For a call, which gives it back. NULL: it is not remembered, and not to be made. */
static struct group *take_group(struct kube_discovery *discovery, const char *group_version,
                                bool is_made)
{
    struct group *group;

    pthread_mutex_lock(&discovery->lock);
    group = strmap_get(&discovery->groups, group_version);
    if (!group && is_made)
        group = add_group(discovery, group_version);
    if (group) {
        group->n_users++;
        group->used_at = discovery->clock->monotonic(discovery->clock);
    }
    pthread_mutex_unlock(&discovery->lock);
    return group;
}

static void give_back(struct kube_discovery *discovery, struct group *group)
{
    pthread_mutex_lock(&discovery->lock);
    group->n_users--;
    pthread_mutex_unlock(&discovery->lock);
}

static int ask(struct kube_discovery *discovery, struct kube_request request,
               const struct kube_wait *wait, const struct value **ret, struct error *error)
{
    int r = kube_wait_left(wait, &request.timeout, error);

    if (r < 0)
        return r;
    request.method = "GET";
    request.cancel = wait->cancel;
    return kube_do(discovery->client, &request, ret, error);
}

/* ---- Reading one group and version ---- */

static const struct kube_kind *known_kind(const struct group *group, const char *kind,
                                          const char *plural, bool namespaced)
{
    for (const struct record *record = group->records; record; record = record->next)
        if (strcmp(record->kind.kind, kind) == 0 && strcmp(record->kind.plural, plural) == 0 &&
            record->kind.namespaced == namespaced)
            return &record->kind;
    return NULL;
}

static const struct kube_kind *record_kind(struct group *group, const char *kind,
                                           const char *plural, bool namespaced)
{
    const struct kube_kind *known = known_kind(group, kind, plural, namespaced);
    struct record *record;

    if (known)
        return known;
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

/* With both locks. */
static void clear_kinds(struct group *group)
{
    strmap_done(&group->kinds);
    strmap_init(&group->kinds);
}

static void set_read(struct group *group, bool is_read)
{
    pthread_mutex_lock(&group->lock);
    group->is_read = is_read;
    pthread_mutex_unlock(&group->lock);
}

static int take_resources(struct group *group, const struct value *answer, struct error *error)
{
    const struct value *resources = value_get(answer, "resources");

    if (!str_equal(value_get_string(answer, "kind"), "APIResourceList") ||
        !value_is(resources, VALUE_ARRAY))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list of resources");
    pthread_mutex_lock(&group->lock);
    clear_kinds(group);
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const char *plural = value_get_string(resource, "name");
        const char *name = value_get_string(resource, "kind");
        const struct kube_kind *kind;

        if (!plural || !name || strchr(plural, '/') || strmap_get(&group->kinds, name))
            continue; /* a subresource, or a second door to a kind */
        kind =
            record_kind(group, name, plural, value_bool(value_get(resource, "namespaced"), false));
        strmap_put(&group->kinds, kind->kind, (void *)(uintptr_t)kind);
    }
    pthread_mutex_unlock(&group->lock);
    return 0;
}

/* ---- The list of groups and versions ---- */

static int read_list(struct kube_discovery *discovery, const struct kube_wait *wait,
                     struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    int r = ask(discovery, (struct kube_request){.path = "/apis"}, wait, &answer, error);

    if (r < 0)
        return r;
    if (!str_equal(value_get_string(answer, "kind"), "APIGroupList") ||
        value_count(value_get(answer, "groups")) == 0)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list of groups");
    value_assign(&discovery->list, answer);
    discovery->list_read_at = discovery->clock->monotonic(discovery->clock);
    return 0;
}

/* The list's groups, not older than so many ms. A reference. */
static int get_list(struct kube_discovery *discovery, int64_t age, const struct kube_wait *wait,
                    const struct value **ret, struct error *error)
{
    int64_t now = discovery->clock->monotonic(discovery->clock);
    int r = 0;

    pthread_mutex_lock(&discovery->list_lock);
    if (!discovery->list || now - discovery->list_read_at >= age)
        r = read_list(discovery, wait, error);
    if (r >= 0)
        *ret = value_ref(value_get(discovery->list, "groups"));
    pthread_mutex_unlock(&discovery->list_lock);
    return r;
}

/*
 * Any proxy can answer 404. That the server has no such group and version is
 * said by its own list of them. 0: it has none; else: unknown.
 */
static int confirm_absence(struct kube_discovery *discovery, const struct group *group,
                           const struct kube_wait *wait, struct error *error)
{
    _cleanup_value_ const struct value *groups = NULL;
    int r = get_list(discovery, 0, wait, &groups, error);

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

static int read_group(struct kube_discovery *discovery, struct group *group,
                      const struct kube_wait *wait, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    const struct kube_kind all = {.group_version = group->group_version};
    struct error why = {0};
    int r = ask(discovery, (struct kube_request){.ref = {.kind = &all}}, wait, &answer, &why);

    if (r == ERR_UNAVAILABLE && strcmp(why.reason, "NotServed") == 0 &&
        strchr(group->group_version, '/')) {
        r = confirm_absence(discovery, group, wait, error);
        if (r < 0)
            return r;
        pthread_mutex_lock(&group->lock);
        clear_kinds(group);
        pthread_mutex_unlock(&group->lock);
    } else if (r < 0) {
        return err_copy(error, &why);
    } else {
        r = take_resources(group, answer, error);
        if (r < 0)
            return r;
    }
    set_read(group, true);
    group->read_at = discovery->clock->monotonic(discovery->clock);
    return 0;
}

/* ---- Questions ---- */

static int find_in_group(struct kube_discovery *discovery, struct group *group, const char *kind,
                         const struct kube_wait *wait, const struct kube_kind **ret,
                         struct error *error)
{
    const struct kube_kind *found = group->is_read ? strmap_get(&group->kinds, kind) : NULL;
    int64_t now = discovery->clock->monotonic(discovery->clock);

    if (!found && (!group->is_read || now - group->read_at >= REFRESH_AFTER)) {
        int r = read_group(discovery, group, wait, error);

        if (r < 0) {
            err_wrap(error, "discovery of %s", group->group_version);
            return r;
        }
        found = strmap_get(&group->kinds, kind);
    }
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
    struct group *group = take_group(discovery, group_version, true);
    int r;

    pthread_mutex_lock(&group->asking_lock);
    r = find_in_group(discovery, group, kind, wait, ret, error);
    pthread_mutex_unlock(&group->asking_lock);
    give_back(discovery, group);
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
    r = get_list(discovery, REFRESH_AFTER, wait, &groups, error);
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
            return err_copy(error, r < 0 ? &problem : NULL);
    }
    return err_copy(error, &absent);
}

const struct kube_kind *kube_discovery_known(struct kube_discovery *discovery,
                                             const char *group_version, const char *kind)
{
    struct group *group = take_group(discovery, group_version, false);
    const struct kube_kind *found;

    if (!group)
        return NULL;
    pthread_mutex_lock(&group->lock);
    found = group->is_read ? strmap_get(&group->kinds, kind) : NULL;
    pthread_mutex_unlock(&group->lock);
    give_back(discovery, group);
    return found;
}

void kube_discovery_forget(struct kube_discovery *discovery, const char *group_version)
{
    struct group *group = take_group(discovery, group_version, false);

    if (!group)
        return;
    pthread_mutex_lock(&group->asking_lock);
    set_read(group, false);
    pthread_mutex_unlock(&group->asking_lock);
    give_back(discovery, group);
}
