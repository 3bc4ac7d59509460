#include <stdio.h>
#include <time.h>

#include "engine/base/str.h"
#include "engine/state/state_value.h"
#include "engine/value/json.h"
#include "test/unit/engine/state/records.h"
#include "test/unit/suite.h"

static void put(struct state *state, const char *id, const char *deposed, int n)
{
    _cleanup_(record_unref_p) const struct record *plain = record_of(id, n), *named = NULL;
    struct record record = *plain;

    record.deposed = deposed;
    named = record_new(&record);
    state_put(state, named);
}

/* "abc": records a, b, c. */
static struct state *with(const char *ids)
{
    struct state *state = empty_state();

    for (; *ids; ids++)
        put(state, (char[]){*ids, '\0'}, NULL, 0);
    return state;
}

static void expect_records(struct state *state, const char *ids, const char *note)
{
    const struct record *record;
    size_t count = 0, at = 0;

    EXPECT_INT((long long)state_count(state), (long long)strlen(ids), note);
    while ((record = state_next(state, &at)))
        EXPECT(record->id[0] == ids[count++], note);
    for (size_t i = 0; i < state_count(state); i++)
        EXPECT(state_at(state, i)->id[0] == ids[i], note);
    EXPECT(!state_at(state, strlen(ids)), note);
}

static void keeps_the_order_recorded(void)
{
    _cleanup_(state_free_p) struct state *state = with("cab");

    expect_records(state, "cab", "as recorded");
    put(state, "a", NULL, 1);
    expect_records(state, "cab", "a change stays in its place");
    state_drop(state, "c", NULL);
    state_drop(state, "nowhere", NULL);
    expect_records(state, "ab", "dropped");
    put(state, "c", NULL, 0);
    put(state, "d", NULL, 0);
    state_drop(state, "b", NULL);
    expect_records(state, "acd", "recorded anew is last");
}

static void names_records_by_id_and_deposed(void)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    char long_id[700];

    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    put(state, "a", NULL, 1);
    put(state, "a", "d1", 2);
    put(state, "a", "d2", 3);
    put(state, "ad1", NULL, 4);
    put(state, long_id, "d1", 5);
    EXPECT_INT((long long)state_count(state), 5, "all are different");
    EXPECT_INT(value_int(value_get(state_find(state, "a", "d2")->attributes, "n"), 0), 3, "d2");
    EXPECT_INT(value_int(value_get(state_find(state, long_id, "d1")->attributes, "n"), 0), 5,
               "a long one");
    EXPECT(!state_find(state, "a", "d3") && !state_find(state, long_id, NULL), "not there");
    state_drop(state, "a", "d1");
    EXPECT(state_find(state, "a", NULL) && !state_find(state, "a", "d1"), "one of them goes");
}

static void a_copy_is_its_own(void)
{
    _cleanup_(state_free_p) struct state *state = with("abc"), *copy = NULL;

    state_drop(state, "b", NULL);
    copy = state_copy(state);
    expect_same_state(state, copy, "the same");
    state_drop(state, "a", NULL);
    put(state, "z", NULL, 0);
    state_set_head(state, &(struct state_head){.spec_namespace = "x", .spec_name = "y"});
    expect_records(copy, "ac", "what is done to one does not show in the other");
    EXPECT_STR(state_head(copy)->spec_name, "web", "nor in its head");
}

/* The ids may be those of the record that goes. */
static void drops_by_the_records_own_name(void)
{
    _cleanup_(state_free_p) struct state *state = with("ab");

    state_drop(state, state_find(state, "a", NULL)->id, NULL);
    expect_records(state, "b", "gone");
    state_put(state, state_find(state, "b", NULL));
    expect_records(state, "b", "itself in its place");
}

static double seconds_to_drop(size_t n)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    struct timespec from, to;
    char id[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "%zu", i);
        put(state, id, NULL, 0);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "%zu", i);
        state_drop(state, id, NULL);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    EXPECT_INT((long long)state_count(state), 0, "all are dropped");
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* As a big destroy does it. Quadratic, it would be a hundred times as long. */
static void dropping_all_is_linear(void)
{
    double few = seconds_to_drop(2000), many = seconds_to_drop(20000);

    EXPECT(many < 40 * few, "ten times as many take about ten times as long");
}

/* ---- As a value ---- */

static void has_kusions_shape(void)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    _cleanup_(record_unref_p) const struct record *full = full_record("f");
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;

    put(state, "a", NULL, 1);
    state_put(state, full);
    value = state_to_value(state);
    text = json_to_str(value);
    EXPECT_STR(text,
               "{\"format\":2,\"spec\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"uid-1\"},"
               "\"revision\":7,\"appliedRevision\":6,\"generation\":3,\"epoch\":2,\"serial\":5,"
               "\"resources\":[{\"id\":\"a\",\"type\":\"Kubernetes\",\"attributes\":{\"n\":1},"
               "\"record\":{\"status\":\"applied\",\"revision\":0,\"action\":\"create\"}},"
               "{\"id\":\"f\",\"type\":\"Terraform\",\"attributes\":{\"data\":{\"p\":\"" SECRET
               "\",\"b\":\"" SECRET_BASE64 "\"},\"open\":\"yes\",\"n\":1.10,\"list\":[0,{\"p/q\":"
               "{\"~\":\"" SECRET "\"}}]},\"dependsOn\":[\"v1:Namespace:a\",\"x\"],\"extensions\":"
               "{\"kubeConfig\":\"" SECRET "\"},\"record\":{\"status\":\"tainted\",\"deposed\":"
               "\"d1\",\"result\":{\"password\":{\"deep\":[\"" SECRET "\"]},\"at\":null},"
               "\"memory\":{\"private\":\"" SECRET
               "\"},\"uid\":\"u-1\",\"fieldsDigest\":\"of-" SECRET "\","
               "\"revision\":9223372036854775807,\"action\":\"deferred\",\"call\":{\"id\":\"call-"
               "1\",\"term\":7,\"until\":1790000000000},\"done\":true,\"onlyRead\":true}}]}",
               "text");
}

static void comes_back_from_its_value(void)
{
    _cleanup_(state_free_p) struct state *state = with("cab"), *back = NULL;
    _cleanup_(record_unref_p) const struct record *full = full_record("f"),
                                                  *mark = mark_of("m", "c");
    _cleanup_value_ const struct value *policy = json("{\"prune\":false}"), *value = NULL;
    struct state_head head = *state_head(state);

    head.policy = policy;
    head.serial = INT64_MAX;
    state_set_head(state, &head);
    state_put(state, full);
    state_put(state, mark);
    value = state_to_value(state);
    EXPECT_INT(state_from_value(value, &back, NULL), 0, "read");
    expect_same_state(state, back, "the same");
}

#define HEAD                                                                      \
    "{\"format\":2,\"spec\":{\"namespace\":\"n\",\"name\":\"s\"},\"revision\":1," \
    "\"appliedRevision\":0,\"generation\":1,\"epoch\":0,\"serial\":1,\"resources\":"
#define OWN  "\"record\":{\"status\":\"applied\",\"revision\":1,\"action\":\"create\"}"
#define GOOD "{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}," OWN "}"

static void what_is_no_state_is_damage(void)
{
    static const struct {
        const char *note, *json;
        int code;
    } rows[] = {
        {"empty", HEAD "[]}", 0},
        {"a record", HEAD "[" GOOD "]}", 0},
        {"without attributes", HEAD "[{\"id\":\"a\",\"type\":\"t\"," OWN "}]}", 0},
        {"format 1", "{\"format\":1,\"resources\":[]}", ERR_CORRUPT},
        {"a later format", "{\"format\":3,\"resources\":[]}", ERR_CORRUPT},
        {"no format", "{\"resources\":[]}", ERR_CORRUPT},
        {"no object", "[]", ERR_CORRUPT},
        {"no resources",
         "{\"format\":2,\"spec\":{\"namespace\":\"n\",\"name\":\"s\"},"
         "\"revision\":1,\"appliedRevision\":0,\"generation\":1,\"epoch\":0,"
         "\"serial\":1}",
         ERR_CORRUPT},
        {"no serial",
         "{\"format\":2,\"spec\":{\"namespace\":\"n\",\"name\":\"s\"},"
         "\"revision\":1,\"appliedRevision\":0,\"generation\":1,\"epoch\":0,"
         "\"resources\":[]}",
         ERR_CORRUPT},
        {"no spec",
         "{\"format\":2,\"revision\":1,\"appliedRevision\":0,\"generation\":1,"
         "\"epoch\":0,\"serial\":1,\"resources\":[]}",
         ERR_CORRUPT},
        {"resources of another type", HEAD "{}}", ERR_CORRUPT},
        {"an unknown field", HEAD "[],\"more\":1}", ERR_CORRUPT},
        {"without id", HEAD "[{\"type\":\"t\",\"attributes\":{}," OWN "}]}", ERR_CORRUPT},
        {"an id with NUL", HEAD "[{\"id\":\"a\\u0000b\",\"type\":\"t\"," OWN "}]}", ERR_CORRUPT},
        {"without type", HEAD "[{\"id\":\"a\",\"attributes\":{}," OWN "}]}", ERR_CORRUPT},
        {"without its own part", HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}}]}",
         ERR_CORRUPT},
        {"attributes that are none",
         HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":7," OWN "}]}", ERR_CORRUPT},
        {"an unknown field of a record", HEAD "[{\"id\":\"a\",\"type\":\"t\",\"x\":1," OWN "}]}",
         ERR_CORRUPT},
        {"an unknown status",
         HEAD "[{\"id\":\"a\",\"type\":\"t\",\"record\":{\"status\":\"x\","
              "\"revision\":1,\"action\":\"create\"}}]}",
         ERR_CORRUPT},
        {"an unknown action",
         HEAD "[{\"id\":\"a\",\"type\":\"t\",\"record\":{\"status\":"
              "\"applied\",\"revision\":1,\"action\":\"x\"}}]}",
         ERR_CORRUPT},
        {"a revision that is none",
         HEAD "[{\"id\":\"a\",\"type\":\"t\",\"record\":{\"status\":"
              "\"applied\",\"revision\":\"1\",\"action\":\"create\"}}]}",
         ERR_CORRUPT},
        {"twice", HEAD "[" GOOD "," GOOD "]}", ERR_CORRUPT},
        {"one damaged among good ones", HEAD "[" GOOD ",7]}", ERR_CORRUPT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = json(rows[i].json);
        struct state *state = NULL, *again = NULL;
        struct error error = {0};

        EXPECT_INT(state_from_value(value, &state, &error), rows[i].code, rows[i].note);
        EXPECT_INT(state_from_value(value, &again, NULL), rows[i].code, "without an error");
        EXPECT_INT(error.code, rows[i].code, rows[i].note);
        EXPECT((state != NULL) == (rows[i].code == 0), rows[i].note);
        state_free(state);
        state_free(again);
    }
}

SUITE(state, TEST(keeps_the_order_recorded), TEST(names_records_by_id_and_deposed),
      TEST(a_copy_is_its_own), TEST(drops_by_the_records_own_name), TEST(dropping_all_is_linear),
      TEST(has_kusions_shape), TEST(comes_back_from_its_value), TEST(what_is_no_state_is_damage))
