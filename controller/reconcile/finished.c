#include "controller/reconcile/finished.h"

#include <pthread.h>

#include "controller/reconcile/api.h"
#include "controller/reconcile/conditions.h"
#include "controller/reconcile/operations.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/base/timestamp.h"

struct entry {
    char *key; /* "namespace/name" of the Release */
    struct group *group;
    int64_t ended_at; /* ms since 1970 */
};

/* The Releases of one Spec, or those of a namespace whose Spec did not exist. */
struct group {
    char *key; /* "namespace/spec"; "namespace/" */
    struct entry **items;
    size_t count, capacity;
};

struct finished {
    pthread_mutex_t lock;
    struct strmap entries; /* by key: those that are kept. One that is not in it may be too many */
    struct strmap groups;
    struct strmap surplus; /* keys of those that are to go */
};

struct finished *finished_new(void)
{
    struct finished *finished = NEW(struct finished);

    pthread_mutex_init(&finished->lock, NULL);
    strmap_init(&finished->entries);
    strmap_init(&finished->groups);
    strmap_init(&finished->surplus);
    return finished;
}

static void entry_free(struct entry *entry)
{
    if (!entry)
        return;
    free(entry->key);
    free(entry);
}

static void group_free(struct group *group)
{
    free(group->key);
    free(group->items);
    free(group);
}

void finished_free(struct finished *finished)
{
    if (!finished)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&finished->entries, e));)
        entry_free(e->value);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&finished->groups, e));)
        group_free(e->value);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&finished->surplus, e));)
        free(e->value);
    strmap_done(&finished->entries);
    strmap_done(&finished->groups);
    strmap_done(&finished->surplus);
    pthread_mutex_destroy(&finished->lock);
    free(finished);
}

/* ---- The table: with its lock ---- */

static void drop(struct finished *finished, const char *key)
{
    struct entry *entry = strmap_remove(&finished->entries, key);
    struct group *group = entry ? entry->group : NULL;

    if (!entry)
        return;
    for (size_t i = 0; i < group->count; i++)
        if (group->items[i] == entry) {
            group->items[i] = group->items[--group->count];
            break;
        }
    if (!group->count) {
        strmap_remove(&finished->groups, group->key);
        group_free(group);
    }
    entry_free(entry);
}

static void add(struct finished *finished, const char *key, const char *group_key, int64_t ended_at)
{
    struct group *group = strmap_get(&finished->groups, group_key);
    struct entry *entry = NEW(struct entry);

    if (!group) {
        group = NEW(struct group);
        group->key = str_new(group_key);
        strmap_put(&finished->groups, group->key, group);
    }
    *entry = (struct entry){.key = str_new(key), .group = group, .ended_at = ended_at};
    group->items = mem_grow(group->items, group->count, &group->capacity, sizeof(struct entry *));
    group->items[group->count++] = entry;
    strmap_put(&finished->entries, entry->key, entry);
}

static struct entry *oldest_of(const struct group *group)
{
    struct entry *oldest = group->items[0];

    for (size_t i = 1; i < group->count; i++)
        if (group->items[i]->ended_at < oldest->ended_at)
            oldest = group->items[i];
    return oldest;
}

/* It is to go: its reconcile deletes it. The queue has a lock of its own, and calls nobody. */
static void end_one(const struct reconcile_context *context, const char *key)
{
    char *own = str_new(key);

    drop(context->finished, key);
    free(strmap_remove(&context->finished->surplus, own));
    strmap_put(&context->finished->surplus, own, own);
    operations_request(context->previews, own);
}

/* False: it is to go. */
static bool note(const struct reconcile_context *context, const char *key, const char *group_key,
                 int64_t ended_at)
{
    struct finished *finished = context->finished;
    struct group *group;
    bool stays;

    pthread_mutex_lock(&finished->lock);
    stays = !strmap_get(&finished->surplus, key);
    if (stays) {
        drop(finished, key);
        add(finished, key, group_key, ended_at);
        group = strmap_get(&finished->groups, group_key);
        if (group->count > context->preview_limit)
            end_one(context, oldest_of(group)->key);
    }
    pthread_mutex_unlock(&finished->lock);
    return stays;
}

void finished_forget(const struct reconcile_context *context, const char *key)
{
    struct finished *finished = context->finished;

    pthread_mutex_lock(&finished->lock);
    drop(finished, key);
    free(strmap_remove(&finished->surplus, key));
    pthread_mutex_unlock(&finished->lock);
}

void finished_end_spec(const struct reconcile_context *context, const struct spec_key *spec)
{
    struct finished *finished = context->finished;
    _cleanup_free_ char *key = str_printf("%s/%s", spec->namespace_name, spec->name);
    struct group *group;

    pthread_mutex_lock(&finished->lock);
    while ((group = strmap_get(&finished->groups, key)))
        end_one(context, group->items[0]->key);
    pthread_mutex_unlock(&finished->lock);
}

/* ---- One Release ---- */

static const char *metadata_of(const struct value *object, const char *field)
{
    return value_string(value_path(object, "metadata", field, NULL));
}

static const char *spec_of(const struct value *object)
{
    return value_string(value_path(object, "spec", "specRef", "name", NULL));
}

/* ms since 1970. It is not written after its end. */
static int64_t ended_at(const struct value *object)
{
    const char *time = value_string(value_path(object, "status", "modifiedTime", NULL));

    return timestamp_parse(time ? time : metadata_of(object, "creationTimestamp"));
}

/* ms */
static int64_t time_to_live(const struct reconcile_context *context, const struct value *object)
{
    int64_t seconds = value_int(value_path(object, "spec", "ttlSecondsAfterFinished", NULL), -1);

    return seconds < 0 || seconds > INT32_MAX ? context->preview_ttl : seconds * 1000;
}

/* It names a Spec that did not exist. One that carries its own resources is planned all the same,
 * and has no generation of a Spec then. */
static bool has_no_spec(const struct value *object)
{
    const struct value *status = value_get(object, "status");
    const struct value *ready = conditions_find(value_get(status, "conditions"), "Ready");
    bool is_of_none = value_path(object, "spec", "resources", NULL) &&
                      !value_int(value_get(status, "specGeneration"), 0);

    return is_of_none || str_equal(value_get_string(ready, "reason"), "SpecNotFound");
}

/* As it was read: a person may just have made it stay longer. */
static int delete_release(const struct reconcile_context *context, const struct value *object,
                          struct cancel *cancel, struct error *error)
{
    const struct spec_key key = {metadata_of(object, "namespace"), metadata_of(object, "name")};
    _cleanup_value_ const struct value *options =
        value_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", metadata_of(object, "uid"), "resourceVersion",
                   metadata_of(object, "resourceVersion"));
    struct kube_request request = {.method = "DELETE",
                                   .ref = api_release_ref(&key, NULL),
                                   .body = options,
                                   .idempotent = true,
                                   .cancel = cancel,
                                   .permit = context->permit};
    struct error problem = {0};
    int r = kube_do(context->client, &request, NULL, &problem);

    if (r >= 0 || r == ERR_NOT_FOUND)
        return 0;
    err_wrap(&problem, "deleting a Release that has ended");
    return err_copy(error, &problem);
}

static int delete_when_due(const struct reconcile_context *context, const struct value *object,
                           bool stays, struct cancel *cancel, struct reconcile_result *result,
                           struct error *error)
{
    int64_t now = context->clock->now(context->clock);
    int64_t left = ended_at(object) + time_to_live(context, object) - now;

    if (!stays || left <= 0)
        return delete_release(context, object, cancel, error);
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = left, .priority = WORKQUEUE_RESYNC};
    return 0;
}

int finished_keep(const struct reconcile_context *context, const char *key,
                  const struct value *object, struct cancel *cancel,
                  struct reconcile_result *result, struct error *error)
{
    _cleanup_free_ char *group = str_printf("%s/%s", metadata_of(object, "namespace"),
                                            has_no_spec(object) ? "" : spec_of(object));
    bool stays = note(context, key, group, ended_at(object));

    return delete_when_due(context, object, stays, cancel, result, error);
}

int finished_keep_orphan(const struct reconcile_context *context, const struct value *object,
                         struct cancel *cancel, struct reconcile_result *result,
                         struct error *error)
{
    const struct spec_key spec = {metadata_of(object, "namespace"), spec_of(object)};
    _cleanup_value_ const struct value *metadata = NULL;
    struct error problem = {0};
    int r = api_get_metadata(context, api_spec_ref(&spec, NULL), cancel, &metadata, &problem);

    if (r == ERR_NOT_FOUND)
        return delete_when_due(context, object, true, cancel, result, error);
    if (r < 0)
        return err_copy(error, &problem);
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = context->preview_ttl, .priority = WORKQUEUE_RESYNC};
    return 0;
}
