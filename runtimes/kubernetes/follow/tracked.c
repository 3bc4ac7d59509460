#include "runtimes/kubernetes/follow/tracked.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/treatment.h"

#define FIRST_BUCKETS 16

/* ---- The table ---- */

static struct tracked **bucket_of(const struct tracked_table *table, uint64_t name)
{
    return &table->buckets[name & (table->n_buckets - 1)];
}

static void grow(struct tracked_table *table)
{
    struct tracked_table old = *table;

    table->n_buckets = old.n_buckets ? 2 * old.n_buckets : FIRST_BUCKETS;
    table->buckets = NEW_ARRAY(struct tracked *, table->n_buckets);
    for (size_t i = 0; i < old.n_buckets; i++)
        for (struct tracked *each = old.buckets[i], *next; each; each = next) {
            struct tracked **bucket = bucket_of(table, each->name);

            next = each->next;
            each->next = *bucket;
            *bucket = each;
        }
    free(old.buckets);
}

void tracked_table_put(struct tracked_table *table, struct tracked *tracked)
{
    struct tracked **bucket;

    if (table->count == table->n_buckets)
        grow(table);
    bucket = bucket_of(table, tracked->name);
    tracked->next = *bucket;
    *bucket = tracked;
    table->count++;
}

void tracked_table_remove(struct tracked_table *table, struct tracked *tracked)
{
    struct tracked **at = bucket_of(table, tracked->name);

    while (*at != tracked)
        at = &(*at)->next;
    *at = tracked->next;
    table->count--;
}

struct tracked *tracked_table_find(const struct tracked_table *table, uint64_t name,
                                   const struct tracked *last)
{
    struct tracked *each = NULL;

    if (last)
        each = last->next;
    else if (table->n_buckets)
        each = *bucket_of(table, name);
    while (each && each->name != name)
        each = each->next;
    return each;
}

struct tracked *tracked_table_next(const struct tracked_table *table, const struct tracked *last)
{
    size_t i = 0;

    if (last && last->next)
        return last->next;
    if (last)
        i = (size_t)(bucket_of(table, last->name) - table->buckets) + 1;
    while (i < table->n_buckets && !table->buckets[i])
        i++;
    return i < table->n_buckets ? table->buckets[i] : NULL;
}

void tracked_table_done(struct tracked_table *table)
{
    for (size_t i = 0; i < table->n_buckets; i++)
        for (struct tracked *each = table->buckets[i], *next; each; each = next) {
            next = each->next;
            free(each);
        }
    free(table->buckets);
    *table = (struct tracked_table){0};
}

/* ---- Fingerprints ---- */

/* FNV-1a, and a last mix for the low bits, which choose the bucket. Names that collide cost a check
 * in vain; the seed keeps tenants from making many. */
uint64_t tracked_name(const char *name, uint64_t seed)
{
    uint64_t hash = seed ^ 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 29;
}

/* None of the two that mean something else. */
static uint64_t finish_print(struct hash *hash)
{
    uint64_t print = hash_finish_short(hash);

    return print > TRACKED_ABSENT ? print : print + TRACKED_ABSENT + 1;
}

uint64_t tracked_print(const char *uid, const char *digest, bool is_terminating)
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    hash_add_str(hash, uid ? uid : "");
    hash_add_str(hash, digest ? digest : "");
    hash_add(hash, is_terminating ? "x" : "", is_terminating);
    return finish_print(hash);
}

uint64_t tracked_print_of(const struct value *object, const char *field_manager)
{
    const struct value *metadata = value_get(object, "metadata");
    _cleanup_free_ char *digest =
        managers_digest(value_get(metadata, "managedFields"), field_manager);

    return tracked_print(value_get_string(metadata, "uid"), digest,
                         value_get(metadata, "deletionTimestamp") != NULL);
}

uint64_t tracked_treatment_of(const struct value *object)
{
    const struct value *annotations = value_path(object, "metadata", "annotations", NULL);
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    for (size_t i = 0; i < value_count(annotations); i++) {
        const char *key = value_member_key(annotations, i, NULL);
        const char *text = value_string(value_member(annotations, i));

        if (!treatment_reads(key))
            continue;
        hash_add_str(hash, key);
        hash_add_str(hash, text ? text : "");
    }
    return finish_print(hash);
}

uint64_t tracked_version(const struct value *object)
{
    const char *text = value_string(value_path(object, "metadata", "resourceVersion", NULL));
    char *end;
    unsigned long long version;

    if (!text || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    version = strtoull(text, &end, 10);
    return *end || errno ? 0 : version;
}

/* ---- One object ---- */

void tracked_see(struct tracked *tracked, uint64_t print, uint64_t version)
{
    tracked->seen = print;
    tracked->seen_version = version;
    tracked->has_news = true;
}

void tracked_see_treatment(struct tracked *tracked, uint64_t treatment)
{
    if (tracked->treatment != TRACKED_UNKNOWN && treatment != tracked->treatment)
        tracked->is_treated_anew = true;
    tracked->treatment = treatment;
}

void tracked_answer_treatment(struct tracked *tracked, uint64_t treatment)
{
    tracked->treatment = treatment;
    tracked->is_treated_anew = false;
}

void tracked_hold(struct tracked *tracked)
{
    tracked->has_news = tracked->was_written = tracked->is_treated_anew = false;
}

void tracked_answer(struct tracked *tracked, uint64_t print, uint64_t version)
{
    if (print == TRACKED_UNKNOWN)
        return;
    tracked->base = print;
    tracked->values = TRACKED_UNKNOWN;
    tracked->answered_version = version;
    tracked->was_written = true;
}

/* What was seen is what was before our own last write. */
static bool is_older_than_answer(const struct tracked *tracked)
{
    return tracked->answered_version && tracked->seen_version &&
           tracked->seen_version < tracked->answered_version;
}

bool tracked_has_drifted(const struct tracked *tracked)
{
    if (tracked->n_in_flight || tracked->base == TRACKED_UNKNOWN ||
        tracked->seen == TRACKED_UNKNOWN)
        return false;
    return tracked->is_treated_anew ||
           (tracked->seen != tracked->base && !is_older_than_answer(tracked));
}

/* Without news the operation has read the object as it was seen last, and left it so: that it may
 * differ from State (an operation that only warns, say) is known, and is not told again. */
void tracked_settle(struct tracked *tracked, uint64_t recorded, bool is_done)
{
    bool is_known = tracked->seen != TRACKED_UNKNOWN && !is_older_than_answer(tracked);

    if (tracked->was_written)
        return;
    if (is_known && (!tracked->has_news || (is_done && tracked->seen == TRACKED_ABSENT)))
        tracked->base = tracked->seen;
    else
        tracked->base = recorded;
}
