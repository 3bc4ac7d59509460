#include "controller/reconcile/suspects.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define FIRST_TURN   1000 /* ms; doubled with each death */
#define MOST_DOUBLED 6

void suspects_init(struct suspects *suspects)
{
    *suspects = (struct suspects){0};
    strmap_init(&suspects->by_key);
}

static void suspect_free(struct suspect *suspect)
{
    free(suspect->key);
    free(suspect);
}

void suspects_done(struct suspects *suspects)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));)
        suspect_free(e->value);
    strmap_done(&suspects->by_key);
}

struct suspect *suspects_find(const struct suspects *suspects, const char *key)
{
    return strmap_get(&suspects->by_key, key);
}

static struct suspect *add(struct suspects *suspects, const char *key, unsigned deaths)
{
    struct suspect *suspect = NEW(struct suspect);

    suspect->key = str_new(key);
    suspect->deaths = deaths;
    strmap_put(&suspects->by_key, suspect->key, suspect);
    return suspect;
}

void suspects_remove(struct suspects *suspects, struct suspect *suspect)
{
    if (!suspect)
        return;
    if (suspects->turn == suspect)
        suspects->turn = NULL;
    strmap_remove(&suspects->by_key, suspect->key);
    suspect_free(suspect);
}

/* ---- A full table ---- */

/* Of "namespace/name", or "kind:namespace/name"; not terminated. */
static const char *namespace_of(const char *key, size_t *ret_length)
{
    const char *colon = strchr(key, ':');
    const char *start = colon ? colon + 1 : key;

    *ret_length = strcspn(start, "/");
    return start;
}

static uintptr_t count_of(const struct strmap *counts, const char *key)
{
    size_t length;
    const char *namespace_name = namespace_of(key, &length);

    return (uintptr_t)strmap_get_n(counts, namespace_name, length);
}

/* Objects of each namespace. */
static void count_namespaces(const struct suspects *suspects, struct strmap *ret)
{
    strmap_init(ret);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        size_t length;
        const char *namespace_name = namespace_of(e->key, &length);
        uintptr_t count = (uintptr_t)strmap_get_n(ret, namespace_name, length) + 1;

        strmap_put_n(ret, namespace_name, length, (void *)count);
    }
}

static bool is_same_namespace(const char *a, const char *b)
{
    size_t length_a, length_b;
    const char *of_a = namespace_of(a, &length_a), *of_b = namespace_of(b, &length_b);

    return length_a == length_b && !memcmp(of_a, of_b, length_a);
}

/* Who makes room for the key; NULL: nobody. */
static struct suspect *find_replaced(const struct suspects *suspects, const char *key)
{
    struct suspect *replaced = NULL;
    uintptr_t own, most = 0;
    struct strmap counts;

    count_namespaces(suspects, &counts);
    own = count_of(&counts, key);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        uintptr_t count = count_of(&counts, e->key);
        bool may_be = count > own || is_same_namespace(e->key, key);
        const struct suspect *suspect = e->value;

        if (!may_be || suspect == suspects->turn || suspect->phase == SUSPECT_TURN || count < most)
            continue;
        if (count > most || (suspect->deaths != replaced->deaths
                                 ? suspect->deaths < replaced->deaths
                                 : suspect->begun_at < replaced->begun_at)) /* it is missed less */
            replaced = e->value;
        most = count;
    }
    strmap_done(&counts);
    return replaced;
}

struct suspect *suspects_add(struct suspects *suspects, const char *key, unsigned deaths)
{
    if (suspects->by_key.count >= LIMIT_SUSPECTS)
        suspects_remove(suspects, find_replaced(suspects, key));
    return suspects->by_key.count < LIMIT_SUSPECTS ? add(suspects, key, deaths) : NULL;
}

/* ---- Deaths and turns ---- */

/* Of those who were suspects before it. */
static size_t count_under_way(const struct suspects *suspects)
{
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        const struct suspect *suspect = e->value;

        count += suspect->deaths && suspect->phase != SUSPECT_WAITS;
    }
    return count;
}

void suspects_bury(struct suspects *suspects)
{
    bool is_alone = count_under_way(suspects) == 1;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        struct suspect *suspect = e->value;

        if (suspect->phase == SUSPECT_TURN ||
            (suspect->phase == SUSPECT_BEGUN && (!suspect->deaths || is_alone)))
            suspect->deaths++;
        suspect->phase = SUSPECT_WAITS;
    }
    suspects->turn = NULL;
    suspects->deaths++;
}

bool suspects_turn_is_free(struct suspects *suspects, int64_t now)
{
    unsigned doubled = suspects->deaths < MOST_DOUBLED ? suspects->deaths : MOST_DOUBLED;
    struct suspect *suspect = suspects->turn;

    if (!suspect)
        return true;
    if (now < suspect->begun_at + ((int64_t)FIRST_TURN << doubled))
        return false;
    if (suspect->phase == SUSPECT_TURN)
        suspect->phase = SUSPECT_BEGUN;
    suspects->turn = NULL;
    return true;
}

static bool waits(const struct suspect *suspect)
{
    return suspect->phase == SUSPECT_WAITS && suspect->is_wanted;
}

void suspects_stand_down(struct suspects *suspects, struct suspect *suspect)
{
    suspect->phase = SUSPECT_WAITS;
    suspect->is_wanted = false;
    if (suspects->turn == suspect)
        suspects->turn = NULL;
}

size_t suspects_count_waiting(const struct suspects *suspects)
{
    size_t count = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));)
        count += waits(e->value);
    return count;
}

bool suspects_is_next(const struct suspects *suspects, const struct suspect *suspect)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        const struct suspect *other = e->value;

        if (waits(other) && other->deaths < suspect->deaths)
            return false;
    }
    return true;
}

bool suspects_are_busy(const struct suspects *suspects, int64_t now, int64_t within)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        const struct suspect *other = e->value;

        if (other->phase == SUSPECT_BEGUN && now < other->begun_at + within)
            return true;
    }
    return false;
}

/* ---- As a document ---- */

static const char *const phases[] = {
    [SUSPECT_WAITS] = "Waits", [SUSPECT_TURN] = "Turn", [SUSPECT_BEGUN] = "Begun"};

const struct value *suspects_write(const struct suspects *suspects)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    value_begin_array(b);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        const struct suspect *suspect = e->value;
        _cleanup_value_ const struct value *one =
            value_pack("{s:s, s:i, s:s}", "key", suspect->key, "deaths", (int)suspect->deaths,
                       "phase", phases[suspect->phase]);

        value_add(b, one);
    }
    value_end_array(b);
    return value_pack("{s:i, s:V}", "deaths", (int)suspects->deaths, "objects", value_finish(b));
}

static unsigned deaths_of(const struct value *value)
{
    int64_t count = value_int(value_get(value, "deaths"), 0);

    return count < 0 ? 0 : count > INT16_MAX ? INT16_MAX : (unsigned)count;
}

static void read_one(struct suspects *suspects, const struct value *value)
{
    const char *key = value_get_string(value, "key"), *phase = value_get_string(value, "phase");
    bool is_new = key && !suspects_find(suspects, key);
    struct suspect *suspect = is_new ? add(suspects, key, deaths_of(value)) : NULL;

    for (size_t i = 0; suspect && i < ARRAY_SIZE(phases); i++)
        if (str_equal(phase, phases[i]))
            suspect->phase = (enum suspect_phase)i;
}

void suspects_read(struct suspects *suspects, const struct value *value)
{
    const struct value *objects = value_get(value, "objects");

    suspects->deaths = deaths_of(value);
    for (size_t i = 0; i < value_count(objects) && i < LIMIT_SUSPECTS; i++)
        read_one(suspects, value_at(objects, i));
}
