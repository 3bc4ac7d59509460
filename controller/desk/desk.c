#include "controller/desk/desk_private.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- Lifetime ---- */

/* wake() of a budget. Its lock is taken after the desk's: nothing of the desk is read here. */
static void on_memory(void *arg, const char *key)
{
    const struct desk_table *table = arg;
    const struct desk_config *config = &table->desk->config;

    config->enqueue(config->arg, table->kind, key);
}

struct desk *desk_new(const struct desk_config *config)
{
    struct desk *desk = NEW(struct desk);

    desk->config = *config;
    desk->since = config->clock ? config->clock->monotonic(config->clock) : 0;
    pthread_mutex_init(&desk->lock, NULL);
    strmap_init(&desk->previews);
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct desk_table *table = &desk->tables[kind];

        table->desk = desk;
        table->kind = kind;
        strmap_init(&table->entries);
        budget_init(&table->budget, &(struct budget_config){.bytes = config->memory,
                                                            .clock = config->clock,
                                                            .wake = on_memory,
                                                            .arg = table});
    }
    return desk;
}

static void entry_free(struct desk_entry *entry)
{
    desk_free_following(entry);
    for (struct asked *next; entry->asked; entry->asked = next) {
        next = entry->asked->next;
        asked_free(entry->asked);
    }
    for (struct kept *next; entry->documents; entry->documents = next) {
        next = entry->documents->next;
        free(entry->documents);
    }
    object_version_done(&entry->read);
    object_version_done(&entry->observed);
    object_version_done(&entry->readiness);
    free(entry->needs);
    free(entry->user);
    free(entry->finished);
    free(entry->exported);
    free(entry->bypassed);
    free(entry->version);
    free(entry->shown);
    free(entry->names);
    free(entry->key);
    free(entry);
}

struct previews {
    char *namespace_name;
    unsigned count;
};

static void previews_free(struct previews *previews)
{
    free(previews->namespace_name);
    free(previews);
}

void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++) {
        struct desk_table *table = &desk->tables[kind];

        for (struct strmap_entry *e = NULL; (e = strmap_next(&table->entries, e));)
            entry_free(e->value);
        strmap_done(&table->entries);
        budget_done(&table->budget);
    }
    for (struct strmap_entry *e = NULL; (e = strmap_next(&desk->previews, e));)
        previews_free(e->value);
    strmap_done(&desk->previews);
    pthread_mutex_destroy(&desk->lock);
    free(desk);
}

/* ---- Entries ---- */

struct desk_entry *desk_find(struct desk *desk, enum desk_kind kind, const struct spec_key *object)
{
    _cleanup_free_ char *key = str_printf("%s/%s", object->namespace_name, object->name);

    return strmap_get(&desk->tables[kind].entries, key);
}

struct desk_entry *desk_get_key(struct desk *desk, enum desk_kind kind, const char *key)
{
    struct desk_entry *entry = strmap_get(&desk->tables[kind].entries, key);
    const char *slash = strchr(key, '/');

    if (entry || !slash)
        return entry;
    entry = NEW(struct desk_entry);
    entry->table = &desk->tables[kind];
    entry->key = str_new(key);
    entry->names = str_new_n(key, (size_t)(slash - key));
    entry->object = (struct spec_key){entry->names, entry->key + (slash - key) + 1};
    strmap_put(&entry->table->entries, entry->key, entry);
    return entry;
}

struct desk_entry *desk_get(struct desk *desk, enum desk_kind kind, const struct spec_key *object)
{
    _cleanup_free_ char *key = str_printf("%s/%s", object->namespace_name, object->name);

    return desk_get_key(desk, kind, key);
}

static bool is_needed(const struct desk_entry *entry)
{
    return entry->is_listed || entry->bypassed || entry->attempt || entry->following ||
           entry->has_landed || entry->asked || entry->documents_of_spec || entry->knows_recorded ||
           entry->n_recorded || entry->was_swept || entry->is_collected || entry->n_previews ||
           entry->n_finished || entry->asks || entry->documents || entry->finished_of ||
           entry->is_surplus || entry->needs || !LIST_EMPTY(&entry->needed_by);
}

void desk_tidy(struct desk_entry *entry)
{
    if (!entry || is_needed(entry))
        return;
    strmap_remove(&entry->table->entries, entry->key);
    entry_free(entry);
}

/* ---- The reconcile of a key ---- */

struct desk_entry *desk_enter(struct desk *desk, enum desk_kind kind, const char *key,
                              struct attempt **attempt)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get_key(desk, kind, key);

    if (entry) {
        if (entry->attempt) {
            *attempt = entry->attempt;
        } else {
            entry->attempt = *attempt;
            entry->was_observed = entry->has_left = entry->is_asked_for = false;
        }
        free(entry->shown);
        entry->shown = entry->is_listed ? str_new(entry->version) : NULL;
        entry->was_new = entry->is_new;
        entry->is_new = false;
    }
    return entry;
}

void desk_leave(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    entry->attempt = NULL;
    entry->has_landed = false;
    free(TAKE(entry->shown));
    object_version_done(&entry->read);
    object_version_done(&entry->observed);
    desk_tidy(entry);
}

const char *desk_key(const struct desk_entry *entry, struct spec_key *ret)
{
    if (ret)
        *ret = entry->object;
    return entry->key;
}

struct budget *desk_budget(struct desk *desk, enum desk_kind kind)
{
    return &desk->tables[kind].budget;
}

struct budget *desk_budget_of(struct desk_entry *entry)
{
    return &entry->table->budget;
}

const struct clock_source *desk_clock(const struct desk_entry *entry)
{
    return entry->table->desk->config.clock;
}

void desk_set_operation(struct desk_entry *entry, struct operation *operation)
{
    struct desk *desk = entry->table->desk;
    LOCKED(&desk->lock);

    entry->operation = operation;
    if (desk->why_no_more)
        operation_cancel(operation, desk->why_no_more);
}

static void end_preview(struct desk_entry *release)
{
    struct desk *desk = release->table->desk;
    struct desk_entry *spec = TAKE(release->preview_of);
    struct previews *previews;

    if (!spec)
        return;
    spec->n_previews--;
    desk_tidy(spec);
    previews = strmap_get(&desk->previews, release->object.namespace_name);
    if (--previews->count)
        return;
    strmap_remove(&desk->previews, previews->namespace_name);
    previews_free(previews);
}

void desk_end_try(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    entry->operation = NULL;
    entry->is_asked_for = false;
    end_preview(entry);
}

bool desk_reserve_preview(struct desk_entry *release, const char *name)
{
    struct desk *desk = release->table->desk;
    LOCKED(&desk->lock);
    const char *namespace_name = release->object.namespace_name;
    struct desk_entry *spec;
    struct previews *previews;
    bool is_free;

    end_preview(release);
    spec = desk_get(desk, DESK_SPEC, &(struct spec_key){namespace_name, name});
    previews = strmap_get(&desk->previews, namespace_name);
    is_free = spec->n_previews < PREVIEWS_OF_SPEC &&
              (!previews || previews->count < PREVIEWS_OF_NAMESPACE);
    if (is_free && !previews) {
        previews = NEW(struct previews);
        previews->namespace_name = str_new(namespace_name);
        strmap_put(&desk->previews, previews->namespace_name, previews);
    }
    if (is_free) {
        previews->count++;
        spec->n_previews++;
        release->preview_of = spec;
    }
    desk_tidy(spec);
    return is_free;
}

/* ---- Waking ---- */

void desk_wake(const struct desk_entry *entry)
{
    const struct desk_config *config = &entry->table->desk->config;

    config->enqueue(config->arg, entry->table->kind, entry->key);
}

void desk_ask(struct desk_entry *entry)
{
    entry->is_asked_for = true;
    entry->is_at_rest = false;
    desk_wake(entry);
}

void desk_request(struct desk *desk, enum desk_kind kind, const struct spec_key *object)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get(desk, kind, object);

    desk_ask(entry);
    desk_tidy(entry);
}

bool desk_is_asked_for(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    return entry->is_asked_for;
}

static void on_landed(void *arg, const struct spec_key *spec)
{
    struct desk *desk = arg;
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get(desk, DESK_SPEC, spec);

    entry->has_landed = true;
    entry->is_at_rest = false;
    desk_wake(entry);
}

bool desk_has_seen_landing(struct desk_entry *entry)
{
    LOCKED(&entry->table->desk->lock);

    return entry->has_landed;
}

/* A Preview makes no calls that change anything. */
void desk_expect_landing(struct desk_entry *entry, struct operation_config *config)
{
    LOCKED(&entry->table->desk->lock);

    if (entry->table->kind != DESK_SPEC)
        return;
    config->on_landed = on_landed;
    config->landed_arg = entry->table->desk;
    entry->has_landed = false;
}

/* ---- The end of all ---- */

void desk_cancel(struct desk *desk, const char *reason)
{
    LOCKED(&desk->lock);

    desk->why_no_more = reason;
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++)
        for (struct strmap_entry *e = NULL; (e = strmap_next(&desk->tables[kind].entries, e));) {
            struct desk_entry *entry = e->value;

            if (entry->operation)
                operation_cancel(entry->operation, reason);
        }
}

/* With a kept attempt an entry is not freed by what fn calls. */
void desk_end_all(struct desk *desk, void (*fn)(struct attempt *attempt))
{
    for (enum desk_kind kind = 0; kind < DESK_KINDS; kind++)
        for (struct strmap_entry *e = NULL; (e = strmap_next(&desk->tables[kind].entries, e));) {
            struct desk_entry *entry = e->value;

            if (!entry->attempt)
                continue;
            fn(entry->attempt);
            entry->attempt = NULL;
        }
}
