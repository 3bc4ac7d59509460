#include "runtimes/kubernetes/client/kinds.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

struct reading {
    struct kube_kinds kinds;
    struct strmap seen; /* "group/plural": a group's versions show the same objects */
};

static bool has_verb(const struct value *resource, const char *verb)
{
    const struct value *verbs = value_get(resource, "verbs");

    for (size_t i = 0; i < value_count(verbs); i++)
        if (str_equal(value_string(value_at(verbs, i)), verb))
            return true;
    return false;
}

static void take_resource(struct reading *reading, const char *group, const char *group_version,
                          const struct value *resource)
{
    struct kube_kinds *kinds = &reading->kinds;
    const char *plural = value_get_string(resource, "resource");
    const char *kind = value_get_string(value_get(resource, "responseKind"), "kind");

    if (!plural || !kind || !str_equal(value_get_string(resource, "scope"), "Namespaced") ||
        !has_verb(resource, "list") || !has_verb(resource, "delete") ||
        strmap_put(&reading->seen, arena_printf(&kinds->arena, "%s/%s", group, plural), reading))
        return;
    kinds->items = mem_grow(kinds->items, kinds->count, &kinds->capacity, sizeof(*kinds->items));
    kinds->items[kinds->count++] = (struct kube_kind){
        .group_version = group_version,
        .kind = arena_str(&kinds->arena, kind),
        .plural = arena_str(&kinds->arena, plural),
        .namespaced = true,
    };
}

/* In the server's order of preference. */
static void take_version(struct reading *reading, const char *group, const struct value *version)
{
    struct kube_kinds *kinds = &reading->kinds;
    const struct value *resources = value_get(version, "resources");
    const char *name = value_get_string(version, "version"), *group_version;

    if (!name)
        return;
    group_version = arena_printf(&kinds->arena, "%s%s%s", group, *group ? "/" : "", name);
    if (str_equal(value_get_string(version, "freshness"), "Stale")) {
        kinds->unknown = mem_grow(kinds->unknown, kinds->n_unknown, &kinds->unknown_capacity,
                                  sizeof(*kinds->unknown));
        kinds->unknown[kinds->n_unknown++] = group_version;
        return;
    }
    for (size_t i = 0; i < value_count(resources); i++)
        take_resource(reading, group, group_version, value_at(resources, i));
}

static int take_groups(struct reading *reading, const struct value *answer, struct error *error)
{
    const struct value *groups = value_get(answer, "items");

    if (!str_equal(value_get_string(answer, "kind"), "APIGroupDiscoveryList") ||
        !value_count(groups))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list of all kinds");
    for (size_t i = 0; i < value_count(groups); i++) {
        const struct value *group = value_at(groups, i), *versions = value_get(group, "versions");
        const char *name = value_string(value_path(group, "metadata", "name", NULL));

        for (size_t v = 0; v < value_count(versions); v++)
            take_version(reading, name ? name : "", value_at(versions, v));
    }
    return 0;
}

int kube_kinds_read(struct kube_client *client, const struct kube_wait *wait,
                    struct kube_kinds *ret, struct error *error)
{
    static const char *const paths[] = {"/api", "/apis"};
    struct reading reading = {{0}, STRMAP_INIT};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(paths) && r >= 0; i++) {
        _cleanup_value_ const struct value *answer = NULL;
        struct kube_request request = {
            .method = "GET", .path = paths[i], .accept = AGGREGATED, .cancel = wait->cancel};

        r = kube_wait_left(wait, &request.timeout, error);
        if (r >= 0)
            r = kube_do(client, &request, &answer, error);
        if (r >= 0)
            r = take_groups(&reading, answer, error);
    }
    strmap_done(&reading.seen);
    if (r < 0) {
        kube_kinds_done(&reading.kinds);
        err_wrap(error, "discovery of all kinds");
        return r;
    }
    *ret = reading.kinds;
    return 0;
}

void kube_kinds_done(struct kube_kinds *kinds)
{
    free(kinds->items);
    free(kinds->unknown);
    arena_done(&kinds->arena);
    *kinds = (struct kube_kinds){0};
}
