/* What the watch shows of an object, and what was read of it. */
#include "controller/desk/desk_private.h"
#include "controller/serve/metrics.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/resource_version.h"

/* ms until an answer counts that is older than what the watch has shown. */
#define STALE_TIME 30000

/* ---- How many are ready ---- */

static void count_ready(const struct desk_entry *entry, double by)
{
    struct metric *specs = entry->table->desk->config.specs;

    if (specs && entry->table->kind == DESK_SPEC && entry->reason)
        metric_add(specs, by, entry->ready, entry->reason, NULL);
}

void desk_note_ready(struct desk *desk, const struct spec_key *spec, const char *ready,
                     const char *reason)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    if (entry && entry->is_listed) {
        bool is_news = !str_equal(entry->reason, reason);

        count_ready(entry, -1);
        entry->ready = str_equal(ready, "True")    ? "True"
                       : str_equal(ready, "False") ? "False"
                                                   : "Unknown";
        entry->reason = reason;
        count_ready(entry, 1);
        if (is_news)
            desk_tell_related(entry);
    }
}

/* ---- Versions ---- */

void object_version_done(struct object_version *version)
{
    free((char *)(uintptr_t)version->uid);
    *version = (struct object_version){0};
}

static void version_copy(struct object_version *to, const struct object_version *from)
{
    object_version_done(to);
    *to = (struct object_version){.uid = str_new(from->uid),
                                  .generation = from->generation,
                                  .is_deleting = from->is_deleting};
}

static bool is_outdated(const struct desk_entry *entry)
{
    const struct object_version *read = &entry->read, *observed = &entry->observed;

    return entry->has_left ||
           (entry->was_observed &&
            (!str_equal(observed->uid, read->uid) || observed->generation > read->generation ||
             (observed->is_deleting && !read->is_deleting)));
}

/* ---- The watch ---- */

static void list(struct desk_entry *entry, const struct object_version *now)
{
    entry->is_listed = true;
    entry->is_deleting = now->is_deleting;
    entry->is_new = entry->is_new || now->is_new;
    free(entry->version);
    entry->version = str_new(now->version);
    free(TAKE(entry->bypassed)); /* what the earlier one had is this one's */
}

static void unlist(struct desk_entry *entry, const struct object_version *now)
{
    count_ready(entry, -1);
    entry->is_listed = entry->is_new = false;
    entry->ready = entry->reason = NULL;
    entry->refused_since = 0;
    entry->is_held = entry->is_deleting = false;
    free(TAKE(entry->version));
    free(TAKE(entry->exported));
    if (now->bypassed) {
        free(entry->bypassed);
        entry->bypassed = str_new(now->bypassed);
    }
}

void desk_observe(struct desk *desk, enum desk_kind kind, const char *key,
                  const struct object_version *now, bool is_asked_for)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get_key(desk, kind, key);

    if (!entry)
        return;
    if (now->uid)
        list(entry, now);
    else
        unlist(entry, now);
    entry->has_left = entry->has_left || !now->uid;
    entry->is_at_rest = false;
    version_copy(&entry->observed, now);
    entry->was_observed = true;
    desk_tell_related(entry);
    if (!now->uid)
        desk_drop_needs(entry);
    entry->is_asked_for = entry->is_asked_for || is_asked_for;
    if (entry->operation && is_outdated(entry))
        operation_cancel(entry->operation, "Superseded");
    desk_tidy(entry);
}

bool desk_lists(struct desk *desk, enum desk_kind kind, const struct spec_key *object)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, kind, object);

    return entry && entry->is_listed;
}

bool desk_lists_key(struct desk *desk, enum desk_kind kind, const char *key)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = strmap_get(&desk->tables[kind].entries, key);

    return entry && entry->is_listed;
}

bool desk_is_listed(struct desk_entry *entry)
{
    return desk_lists(entry->table->desk, entry->table->kind, &entry->object);
}

const char *desk_new_version(const struct desk_entry *entry)
{
    return entry->was_new ? entry->shown : NULL;
}

/* ---- What is read ---- */

/* False: the answer is what counts from now on. */
static bool is_refused(struct desk_entry *entry, const char *version)
{
    const struct clock_source *clock = entry->table->desk->config.clock;
    int64_t now = clock->monotonic(clock);

    if (!entry->refused_since)
        entry->refused_since = now;
    if (now - entry->refused_since < STALE_TIME)
        return true;
    entry->refused_since = 0;
    free(entry->version);
    entry->version = str_new(version);
    return false;
}

int desk_check_answer(struct desk_entry *entry, const struct value *object, struct error *error)
{
    LOCKED(&entry->table->desk->lock);
    const char *version = value_get_string(value_get(object, "metadata"), "resourceVersion");
    if ((object && !version) || !entry->is_listed)
        return 0;
    if (version && kube_compare_versions(version, entry->shown) >= 0) {
        entry->refused_since = 0;
        return 0;
    }
    if (!is_refused(entry, version))
        return 0;
    return err_set(error, ERR_UNAVAILABLE, "StaleAnswer",
                   "the API server answered with %s%s, and its watch has shown version %s: a cache "
                   "may be in between, or a backup was restored",
                   version ? "version " : "nothing", version ? version : "",
                   entry->shown ? entry->shown : "none");
}

void desk_note_read(struct desk_entry *entry, const struct value *metadata)
{
    LOCKED(&entry->table->desk->lock);
    struct object_version version = {
        .uid = value_get_string(metadata, "uid"),
        .generation = value_int(value_get(metadata, "generation"), 0),
        .is_deleting = value_get(metadata, "deletionTimestamp") != NULL,
    };

    version_copy(&entry->read, &version);
    entry->has_left = false;
    if (!metadata)
        entry->was_observed = false;
}

bool desk_is_outdated(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    return is_outdated(entry);
}

bool desk_has_left(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);
    const struct object_version *read = &entry->read, *observed = &entry->observed;

    return entry->has_left && (!observed->uid || str_equal(observed->uid, read->uid));
}

char *desk_bypassed(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    return str_new(entry->bypassed);
}

void desk_end_bypassed(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    free(TAKE(entry->bypassed));
}

char *desk_superseded_by(int64_t generation)
{
    return str_printf("superseded by generation %lld of the Spec", (long long)generation);
}

char *desk_outdated_by(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);
    const struct object_version *observed = &entry->observed;
    if (observed->is_deleting || entry->has_left)
        return str_new("the Spec was deleted");
    if (!str_equal(observed->uid, entry->read.uid))
        return str_new("the Spec was deleted, and made anew");
    return desk_superseded_by(observed->generation);
}
