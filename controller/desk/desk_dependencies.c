#include "controller/desk/dependencies.h"

#include "controller/desk/desk_private.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define READ_WITHIN 30000 /* ms after the start of the process */

/* ---- Who is woken ---- */

static void wake_if_held(const struct desk_entry *entry)
{
    if (entry->is_held)
        desk_wake(entry);
}

static void wake_dependents(const struct desk_entry *entry)
{
    const struct need *need;

    LIST_FOREACH(need, &entry->needed_by, of_on)
        wake_if_held(need->of);
}

void desk_tell_related(struct desk_entry *entry)
{
    if (entry->table->kind != DESK_SPEC)
        return;
    wake_dependents(entry);
    for (size_t i = 0; i < entry->n_needs; i++)
        wake_if_held(entry->needs[i].on);
}

/* ---- Ways between Specs ---- */

/* A search over entries, breadth first. Its map is by key: the entry from which one was reached, or
 * where it begins itself. Under the lock of all Specs, so that one search has to do for a question,
 * and follows no more than DESK_WAYS.
 */
struct search {
    struct strmap from;
    struct desk_entry **reached;
    size_t count, capacity;
    size_t ways; /* that were followed */
};

static void search_add(struct search *search, struct desk_entry *entry, struct desk_entry *from)
{
    if (strmap_get(&search->from, entry->key))
        return;
    strmap_put(&search->from, entry->key, from);
    search->reached =
        mem_grow(search->reached, search->count, &search->capacity, sizeof(struct desk_entry *));
    search->reached[search->count++] = entry;
}

static void search_done(struct search *search)
{
    strmap_done(&search->from);
    free(search->reached);
}

static bool search_follow(struct search *search, struct desk_entry *to, struct desk_entry *from)
{
    if (search->ways++ == DESK_WAYS)
        return false;
    search_add(search, to, from);
    return true;
}

/* All that those depend on, directly or not, where it begins; until `to` (or NULL) is reached. */
static void search_needs(struct search *search, const struct desk_entry *to)
{
    for (size_t i = 0; i < search->count && search->reached[i] != to; i++)
        for (size_t k = 0; k < search->reached[i]->n_needs; k++)
            if (!search_follow(search, search->reached[i]->needs[k].on, search->reached[i]))
                return;
}

/* All that depend on those where it begins, directly or not. */
static void search_dependents(struct search *search)
{
    const struct need *need;

    for (size_t i = 0; i < search->count; i++)
        LIST_FOREACH(need, &search->reached[i]->needed_by, of_on)
            if (!search_follow(search, need->of, search->reached[i]))
                return;
}

static void wake_all_dependents(struct desk_entry *entry)
{
    _cleanup_(search_done) struct search search = {0};

    search_add(&search, entry, entry);
    search_dependents(&search);
    for (size_t i = 0; i < search.count; i++)
        wake_if_held(search.reached[i]);
}

/* to: it was reached. The way is found from its end. */
static void write_path(const struct search *search, const struct desk_entry *to,
                       struct desk_path *ret)
{
    const struct desk_entry *each = to, *before;
    size_t length = 1;

    for (; (before = strmap_get(&search->from, each->key)) != each; each = before)
        length++;
    ret->is_cut = length > DESK_CYCLE;
    ret->count = ret->is_cut ? DESK_CYCLE : length;
    for (each = to; length--; each = strmap_get(&search->from, each->key))
        if (length < DESK_CYCLE)
            ret->keys[length] = str_new(each->key);
}

bool desk_find_path(struct desk *desk, const struct spec_key *from, size_t n_from,
                    const struct spec_key *to, struct desk_path *ret)
{
    LOCKED(&desk->lock);
    const struct desk_entry *end = desk_find(desk, DESK_SPEC, to);
    _cleanup_(search_done) struct search search = {0};
    bool is_found;

    *ret = (struct desk_path){0};
    if (!end)
        return false;
    for (size_t i = 0; i < n_from; i++) {
        struct desk_entry *start = desk_find(desk, DESK_SPEC, &from[i]);

        if (start)
            search_add(&search, start, start);
    }
    search_needs(&search, end);
    is_found = strmap_get(&search.from, end->key);
    if (is_found)
        write_path(&search, end, ret);
    return is_found;
}

void desk_path_done(struct desk_path *path)
{
    for (size_t i = 0; i < path->count; i++)
        free(path->keys[i]);
    *path = (struct desk_path){0};
}

/* ---- What is noted ---- */

static bool are_equal(const struct desk_entry *entry, const struct desk_needs *needs)
{
    if (entry->n_needs != needs->count)
        return false;
    for (size_t i = 0; i < needs->count; i++)
        if (!str_equal(entry->needs[i].on->object.namespace_name, needs->on[i].namespace_name) ||
            !str_equal(entry->needs[i].on->object.name, needs->on[i].name))
            return false;
    return true;
}

void desk_drop_needs(struct desk_entry *entry)
{
    _cleanup_free_ struct need *needs = TAKE(entry->needs);
    size_t count = entry->n_needs;

    entry->n_needs = 0;
    entry->knows_needs = false;
    for (size_t i = 0; i < count; i++) {
        LIST_REMOVE(&needs[i], of_on);
        if (needs[i].on != entry)
            desk_tidy(needs[i].on);
    }
}

static void set_needs(struct desk_entry *entry, const struct desk_needs *needs)
{
    desk_drop_needs(entry);
    if (!needs->count)
        return;
    entry->needs = NEW_ARRAY(struct need, needs->count);
    entry->n_needs = needs->count;
    for (size_t i = 0; i < needs->count; i++) {
        struct need *need = &entry->needs[i];

        need->of = entry;
        need->on = desk_get(entry->table->desk, DESK_SPEC, &needs->on[i]);
        LIST_INSERT_HEAD(&need->on->needed_by, need, of_on);
    }
}

void desk_note_needs(struct desk *desk, const struct spec_key *spec, const struct desk_needs *needs)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);
    bool is_new;

    if (!entry || !entry->is_listed)
        return;
    is_new = !are_equal(entry, needs);
    if (is_new) {
        wake_all_dependents(entry);
        set_needs(entry, needs);
    }
    entry->knows_needs = true;
    free(entry->user);
    entry->user = str_new(needs->user);
    if (is_new && entry->is_deleting)
        desk_tell_related(entry);
}

void desk_note_ready_generation(struct desk *desk, const struct spec_key *spec, const char *uid,
                                int64_t generation)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);
    struct object_version *known;

    if (!entry || !entry->is_listed)
        return;
    known = &entry->readiness;
    if (known->generation == generation && str_equal(known->uid, uid))
        return;
    object_version_done(known);
    *known = (struct object_version){.uid = str_new(uid), .generation = generation};
    wake_dependents(entry);
}

void desk_set_held(struct desk *desk, const struct spec_key *spec, bool is_held)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    if (entry)
        entry->is_held = is_held && entry->is_listed;
}

/* ---- What is asked ---- */

struct desk_readiness desk_readiness_of(struct desk *desk, const struct spec_key *spec,
                                        const char *uid)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);
    struct desk_readiness readiness = {0};

    if (!entry || !entry->is_listed)
        return readiness;
    readiness.is_listed = true;
    readiness.reason = entry->reason;
    if (str_equal(entry->readiness.uid, uid))
        readiness.generation = entry->readiness.generation;
    return readiness;
}

static void add_dependent(struct desk_dependents *dependents, const struct desk_entry *entry)
{
    dependents->items = mem_grow(dependents->items, dependents->count, &dependents->capacity,
                                 sizeof(*dependents->items));
    dependents->items[dependents->count++] =
        (struct desk_dependent){.namespace_name = str_new(entry->object.namespace_name),
                                .name = str_new(entry->object.name),
                                .user = str_new(entry->user),
                                .is_deleting = entry->is_deleting};
}

/* Each Spec is read soon after the start; one that is not for so long keeps nobody. */
static bool are_all_read(const struct desk *desk, const char *namespace_name)
{
    const struct clock_source *clock = desk->config.clock;

    if (!clock || clock->monotonic(clock) - desk->since > READ_WITHIN)
        return true;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&desk->tables[DESK_SPEC].entries, e));) {
        const struct desk_entry *each = e->value;

        if (each->is_listed && each->is_deleting && !each->knows_needs &&
            str_equal(each->object.namespace_name, namespace_name))
            return false;
    }
    return true;
}

void desk_dependents_of(struct desk *desk, const struct spec_key *spec, struct desk_dependents *ret)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);
    _cleanup_(search_done) struct search needed = {0};
    const struct need *need;

    *ret = (struct desk_dependents){.is_complete = are_all_read(desk, spec->namespace_name)};
    if (!entry)
        return;
    search_add(&needed, entry, entry);
    search_needs(&needed, NULL);
    LIST_FOREACH(need, &entry->needed_by, of_on)
        if (need->of->is_listed && !strmap_get(&needed.from, need->of->key))
            add_dependent(ret, need->of);
}

void desk_dependents_done(struct desk_dependents *dependents)
{
    for (size_t i = 0; i < dependents->count; i++) {
        free(dependents->items[i].namespace_name);
        free(dependents->items[i].name);
        free(dependents->items[i].user);
    }
    free(dependents->items);
    *dependents = (struct desk_dependents){0};
}
