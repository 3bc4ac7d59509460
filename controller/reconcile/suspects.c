#include "controller/reconcile/suspects.h"

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

struct suspect *suspects_add(struct suspects *suspects, const char *key, unsigned deaths)
{
    struct suspect *suspect;

    if (suspects->by_key.count >= LIMIT_SUSPECTS)
        return NULL;
    suspect = NEW(struct suspect);
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

/* ---- Deaths and turns ---- */

void suspects_bury(struct suspects *suspects)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        struct suspect *suspect = e->value;

        if (suspect->phase == SUSPECT_TURN || (suspect->phase == SUSPECT_BEGUN && !suspect->deaths))
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
    const struct value *value;

    value_begin_object(b);
    value_key(b, "deaths");
    value_add_int(b, suspects->deaths);
    value_key(b, "objects");
    value_begin_array(b);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        const struct suspect *suspect = e->value;
        _cleanup_value_ const struct value *one =
            value_pack("{s:s, s:i, s:s}", "key", suspect->key, "deaths", (int)suspect->deaths,
                       "phase", phases[suspect->phase]);

        value_add(b, one);
    }
    value_end_array(b);
    value_end_object(b);
    return value_builder_finish(b, &value, NULL) < 0 ? NULL : value;
}

static unsigned count_of(const struct value *value)
{
    int64_t count = value_int(value_get(value, "deaths"), 0);

    return count < 0 ? 0 : count > INT16_MAX ? INT16_MAX : (unsigned)count;
}

static void read_one(struct suspects *suspects, const struct value *value)
{
    const char *key = value_get_string(value, "key"), *phase = value_get_string(value, "phase");
    struct suspect *suspect =
        key && !suspects_find(suspects, key) ? suspects_add(suspects, key, count_of(value)) : NULL;

    for (size_t i = 0; suspect && i < ARRAY_SIZE(phases); i++)
        if (str_equal(phase, phases[i]))
            suspect->phase = (enum suspect_phase)i;
}

void suspects_read(struct suspects *suspects, const struct value *value)
{
    const struct value *objects = value_get(value, "objects");

    suspects->deaths = count_of(value);
    for (size_t i = 0; i < value_count(objects); i++)
        read_one(suspects, value_at(objects, i));
}
