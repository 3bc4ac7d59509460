#include "controller/reconcile/suspects.h"

#include <string.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

static struct suspect *put(struct suspects *suspects, const char *key, unsigned deaths,
                           enum suspect_phase phase, int64_t begun_at)
{
    struct suspect *suspect = suspects_add(suspects, key, deaths);

    EXPECT(suspect, key);
    suspect->phase = phase;
    suspect->begun_at = begun_at;
    return suspect;
}

/* The process dies: of each object, how many deaths count before it and after. */
static void a_death_counts_for_who_was_under_way(void)
{
    static const struct {
        const char *note;
        struct {
            enum suspect_phase phase;
            unsigned deaths, after;
        } objects[3];
        size_t n_objects;
    } rows[] = {
        {"what is no suspect yet", {{SUSPECT_BEGUN, 0, 1}, {SUSPECT_BEGUN, 0, 1}}, 2},
        {"what waits", {{SUSPECT_WAITS, 1, 1}}, 1},
        {"in its turn", {{SUSPECT_TURN, 1, 2}, {SUSPECT_BEGUN, 1, 1}}, 2},
        {"in two turns, as one was held", {{SUSPECT_TURN, 1, 2}, {SUSPECT_TURN, 2, 3}}, 2},
        {"after its turn, alone", {{SUSPECT_BEGUN, 1, 2}, {SUSPECT_WAITS, 1, 1}}, 2},
        {"after its turn, beside no suspects", {{SUSPECT_BEGUN, 2, 3}, {SUSPECT_BEGUN, 0, 1}}, 2},
        {"after its turn, in another's",
         {{SUSPECT_BEGUN, 2, 2}, {SUSPECT_TURN, 1, 2}, {SUSPECT_BEGUN, 0, 1}},
         3},
        {"after two turns", {{SUSPECT_BEGUN, 1, 1}, {SUSPECT_BEGUN, 1, 1}}, 2},
    };
    static const char *const keys[] = {"team/a", "team/b", "team/c"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct suspects suspects;

        suspects_init(&suspects);
        for (size_t j = 0; j < rows[i].n_objects; j++)
            put(&suspects, keys[j], rows[i].objects[j].deaths, rows[i].objects[j].phase, 0);
        suspects_bury(&suspects);
        for (size_t j = 0; j < rows[i].n_objects; j++) {
            const struct suspect *suspect = suspects_find(&suspects, keys[j]);

            EXPECT_INT(suspect->deaths, rows[i].objects[j].after, rows[i].note);
            EXPECT_INT(suspect->phase, SUSPECT_WAITS, rows[i].note);
        }
        suspects_done(&suspects);
    }
}

/* The table is full, but for these objects, with those of the namespaces "many" and "few". */
#define OTHERS 4

static void fill(struct suspects *suspects, size_t many, unsigned deaths)
{
    for (size_t i = 0; suspects->by_key.count < LIMIT_SUSPECTS - OTHERS; i++) {
        _cleanup_free_ char *key =
            str_printf(i < many ? "%smany/%zu" : "%sfew-%zu/web", i % 2 ? "release:" : "", i);

        put(suspects, key, deaths, deaths ? SUSPECT_WAITS : SUSPECT_BEGUN, 100);
    }
}

static void one_more_takes_the_place_of_another(void)
{
    static const struct {
        const char *note, *key;
        size_t many;     /* objects */
        unsigned deaths; /* of all that fill the table */
        struct {
            const char *key;
            unsigned deaths;
            enum suspect_phase phase;
            int64_t begun_at;
        } others[OTHERS];
        const char *replaced;
    } rows[] = {
        {"the first that began, of who has the most",
         "team/new",
         300,
         0,
         {{"many/old", 0, SUSPECT_BEGUN, 10},
          {"many/older", 0, SUSPECT_BEGUN, 9},
          {"few/oldest", 0, SUSPECT_BEGUN, 1},
          {"many/suspect", 1, SUSPECT_BEGUN, 1}},
         "many/older"},
        {"a Preview, too",
         "release:team/new",
         300,
         0,
         {{"many/a", 0, SUSPECT_BEGUN, 101},
          {"release:many/old", 0, SUSPECT_BEGUN, 9},
          {"few/b", 0, SUSPECT_BEGUN, 1},
          {"few/c", 0, SUSPECT_BEGUN, 1}},
         "release:many/old"},
        {"the least suspected, and not who has the turn",
         "team/new",
         300,
         2,
         {{"many/turn", 1, SUSPECT_TURN, 1},
          {"many/a", 1, SUSPECT_WAITS, 5},
          {"many/b", 3, SUSPECT_WAITS, 4},
          {"few/c", 0, SUSPECT_BEGUN, 1}},
         "many/a"},
        {"its own, where it has the most",
         "many/new",
         300,
         0,
         {{"many/old", 0, SUSPECT_BEGUN, 10},
          {"few/a", 0, SUSPECT_BEGUN, 1},
          {"few/b", 0, SUSPECT_BEGUN, 1},
          {"few/c", 0, SUSPECT_BEGUN, 1}},
         "many/old"},
        {"its own, where none has more",
         "few-7/new",
         0,
         0,
         {{"a/web", 0, SUSPECT_BEGUN, 1},
          {"b/web", 0, SUSPECT_BEGUN, 1},
          {"c/web", 0, SUSPECT_BEGUN, 1},
          {"d/web", 0, SUSPECT_BEGUN, 1}},
         "release:few-7/web"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct suspects suspects;

        suspects_init(&suspects);
        fill(&suspects, rows[i].many, rows[i].deaths);
        for (size_t j = 0; j < OTHERS; j++)
            put(&suspects, rows[i].others[j].key, rows[i].others[j].deaths, rows[i].others[j].phase,
                rows[i].others[j].begun_at);
        EXPECT(suspects_add(&suspects, rows[i].key, 0), rows[i].note);
        EXPECT_INT(suspects.by_key.count, LIMIT_SUSPECTS, rows[i].note);
        EXPECT(suspects_find(&suspects, rows[i].key), rows[i].note);
        EXPECT(!suspects_find(&suspects, rows[i].replaced), rows[i].note);
        suspects_done(&suspects);
    }
}

/* A record is no larger than what we write. */
static void no_more_is_read_than_there_may_be(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *record = NULL;
    struct suspects suspects;

    value_begin_object(b);
    value_key(b, "objects");
    value_begin_array(b);
    for (unsigned i = 0; i < LIMIT_SUSPECTS + 10; i++) {
        _cleanup_free_ char *key = str_printf("team/%u", i);
        _cleanup_value_ const struct value *one = value_pack("{s:s}", "key", key);

        value_add(b, one);
    }
    value_end_array(b);
    value_end_object(b);
    value_builder_finish(b, &record, NULL);
    suspects_init(&suspects);
    suspects_read(&suspects, record);
    EXPECT_INT(suspects.by_key.count, LIMIT_SUSPECTS, "read");
    EXPECT(suspects_find(&suspects, "team/0"), "the first ones");
    suspects_done(&suspects);
}

SUITE(suspects, TEST(a_death_counts_for_who_was_under_way),
      TEST(one_more_takes_the_place_of_another), TEST(no_more_is_read_than_there_may_be))
