#include "engine/state/state.h"

#include <time.h>

#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/state/store.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static struct state *with(const char *ids)
{
    struct state *state = state_new("team-a", "web", "uid-1");

    for (; *ids; ids++) {
        _cleanup_value_ const struct value *attributes = value_pack("{s:i}", "n", *ids - 'a');
        char id[] = {*ids, '\0'};

        value_assign(&state_record(state, id, "Kubernetes")->attributes, attributes);
    }
    return state;
}

/* Ids of a State as it is stored. */
static char *stored(const struct state *state)
{
    _cleanup_value_ const struct value *value = state_to_value(state);
    const struct value *resources = value_get(value, "resources");
    struct buf text;

    buf_init(&text, 0);
    for (size_t i = 0; i < value_count(resources); i++)
        buf_add_str(&text, value_get_string(value_at(resources, i), "id"));
    return buf_take(&text);
}

/* All ways to get at records agree on these. */
static void expect_records(const struct state *state, const char *ids, const char *note)
{
    _cleanup_free_ char *order = stored(state);

    EXPECT_STR(order, ids, note);
    EXPECT_INT(state->n_records, strlen(ids), note);
    for (; *ids; ids++) {
        char id[] = {*ids, '\0'};
        const struct record *record = state_find(state, id);
        bool listed = false;

        CU_ASSERT_PTR_NOT_NULL_FATAL(record);
        EXPECT_STR(record->id, id, note);
        EXPECT_INT(value_int(value_get(record->attributes, "n"), -1), *ids - 'a', note);
        for (size_t i = 0; i < state->n_records; i++)
            listed = listed || state->records[i] == record;
        EXPECT(listed, note);
    }
}

/* ---- Records ---- */

static void makes_a_record_once(void)
{
    _cleanup_(state_free_p) struct state *state = with("ab");
    struct record *a = state_find(state, "a");

    EXPECT_INT(a->status, RECORD_INTENT, "an intent at first");
    EXPECT(!a->uid && !a->digest && !a->footprint, "without content");
    EXPECT(state_record(state, "a", "Terraform") == a, "the same");
    EXPECT_STR(a->type, "Kubernetes", "and unchanged");
    EXPECT(!state_find(state, "c"), "not there");
    expect_records(state, "ab", "two");
}

static void drops_and_keeps_the_order_recorded(void)
{
    static const struct {
        const char *note, *ids, *drops, *adds, *left;
    } rows[] = {
        {"the first", "abcd", "a", "", "bcd"},
        {"the last", "abcd", "d", "", "abc"},
        {"one in the middle", "abcd", "b", "", "acd"},
        {"what is not there", "abcd", "x", "", "abcd"},
        {"the same twice", "abcd", "bb", "", "acd"},
        {"from the front", "abcdef", "abc", "", "def"},
        {"from the back", "abcdef", "fed", "", "abc"},
        {"all", "abc", "bca", "", ""},
        {"of none", "", "a", "", ""},
        {"and recorded again: as the last", "abcd", "a", "a", "bcda"},
        {"and others recorded", "abcdef", "bd", "xy", "acefxy"},
        {"all, and begun again", "abc", "abc", "ba", "ba"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(state_free_p) struct state *state = with(rows[i].ids), *copy = NULL;

        for (const char *id = rows[i].drops; *id; id++)
            state_drop(state, (char[]){*id, '\0'});
        for (const char *id = rows[i].adds; *id; id++) {
            _cleanup_value_ const struct value *attributes = value_pack("{s:i}", "n", *id - 'a');

            value_assign(&state_record(state, (char[]){*id, '\0'}, "Kubernetes")->attributes,
                         attributes);
        }
        expect_records(state, rows[i].left, rows[i].note);
        copy = state_copy(state);
        expect_records(copy, rows[i].left, rows[i].note);
        for (size_t k = 0; k < copy->n_records; k++)
            EXPECT_INT(copy->records[k]->id[0], rows[i].left[k], "a copy is in order");
    }
}

static double seconds_to_drop(size_t n)
{
    _cleanup_(state_free_p) struct state *state = state_new("team-a", "web", "uid-1");
    struct timespec from, to;
    char id[32];

    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "%zu", i);
        state_record(state, id, "Kubernetes");
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (size_t i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "%zu", i);
        state_drop(state, id);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    EXPECT_INT(state->n_records, 0, "all are dropped");
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* As a big destroy does it. Quadratic, it would be a hundred times as long. */
static void dropping_all_is_linear(void)
{
    double few = seconds_to_drop(5000), many = seconds_to_drop(50000);

    EXPECT(many < 40 * few, "ten times as many take about ten times as long");
}

/* ---- Copies and fields ---- */

static void a_copy_is_its_own(void)
{
    _cleanup_(state_free_p) struct state *state = with("abc"), *copy = NULL;
    _cleanup_value_ const struct value *before = NULL, *after = NULL, *other = parse("{\"n\":9}");
    struct record *b = state_find(state, "b");

    b->status = RECORD_APPLIED;
    record_set_str(&b->uid, "u");
    record_set_str(&b->digest, "d");
    record_set_str(&b->footprint, "f");
    value_assign(&b->extensions, other);
    value_assign(&b->dependencies, other);
    state->revision = 7;
    state->applied_revision = 6;
    state->generation = 5;
    state->epoch = 4;
    copy = state_copy(state);
    before = state_to_value(state);
    after = state_to_value(copy);
    EXPECT(value_equal(before, after), "the same");

    record_set_str(&b->uid, "other");
    value_assign(&b->attributes, other);
    state_drop(state, "a");
    state_record(state, "z", "Kubernetes");
    state->revision = 8;
    value_unref(after);
    after = state_to_value(copy);
    EXPECT(value_equal(before, after), "what is done to one does not show in the other");
}

static void sets_fields_to_what_they_are(void)
{
    _cleanup_(state_free_p) struct state *state = with("a");
    struct record *a = state_find(state, "a");

    record_set_str(&a->uid, "u1");
    record_set_str(&a->uid, a->uid);
    EXPECT_STR(a->uid, "u1", "a string");
    value_assign(&a->attributes, a->attributes);
    EXPECT_INT(value_int(value_get(a->attributes, "n"), -1), 0, "a value");
    record_set_str(&a->uid, NULL);
    value_assign(&a->attributes, NULL);
    EXPECT(!a->uid && !a->attributes, "nothing");
}

static void digests_mean_what_is_sent(void)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"{\"x\":1,\"y\":2}", "{\"y\":2,\"x\":1}", true},
        {"{\"x\":1.0}", "{\"x\":1}", true},
        {"{\"x\":1}", "{\"x\":\"1\"}", false},
        {"{\"x\":[1,2]}", "{\"x\":[2,1]}", false},
        {"{\"x\":null}", "{}", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *x = parse(rows[i].a), *y = parse(rows[i].b);
        _cleanup_free_ char *a = attributes_digest(x), *b = attributes_digest(y);

        EXPECT_INT(str_equal(a, b), rows[i].same, rows[i].b);
        EXPECT_INT(strlen(a), 64, "sha256 in hexadecimal");
    }
}

/* ---- As a value ---- */

static void has_kusions_shape(void)
{
    _cleanup_(state_free_p) struct state *state = state_new("team-a", "web", "uid-1");
    struct record *record = state_record(state, "v1:Secret:a:s", "Kubernetes");
    _cleanup_value_ const struct value *attributes = parse("{\"kind\":\"Secret\"}"),
                                       *extensions = parse("{\"e\":1}"),
                                       *dependencies = parse("[\"v1:Namespace:a\"]"),
                                       *value = NULL;
    _cleanup_free_ char *text = NULL;

    state->revision = 3;
    state->applied_revision = 2;
    state->generation = 9;
    state->epoch = 4;
    record->status = RECORD_APPLIED;
    value_assign(&record->attributes, attributes);
    value_assign(&record->extensions, extensions);
    value_assign(&record->dependencies, dependencies);
    record_set_str(&record->uid, "u");
    record_set_str(&record->digest, "d");
    record_set_str(&record->footprint, "f");
    state_record(state, "i", "Kubernetes");
    value = state_to_value(state);
    text = json_to_str(value);
    EXPECT_STR(
        text,
        "{\"format\":1,\"spec\":{\"namespace\":\"team-a\",\"name\":\"web\",\"uid\":\"uid-1\"},"
        "\"revision\":3,\"appliedRevision\":2,\"generation\":9,\"epoch\":4,\"resources\":["
        "{\"id\":\"v1:Secret:a:s\",\"type\":\"Kubernetes\",\"attributes\":{\"kind\":"
        "\"Secret\"},\"dependsOn\":[\"v1:Namespace:a\"],\"extensions\":{\"e\":1},\"record\":"
        "{\"applied\":true,\"uid\":\"u\",\"digest\":\"d\",\"footprint\":\"f\"}},"
        "{\"id\":\"i\",\"type\":\"Kubernetes\",\"attributes\":null,\"record\":"
        "{\"applied\":false}}]}",
        "text");
}

static void comes_back_from_its_value(void)
{
    _cleanup_(state_free_p) struct state *state = with("cab"), *back = NULL;
    _cleanup_value_ const struct value *value = NULL, *again = NULL;

    state->epoch = INT64_MAX;
    record_set_str(&state_find(state, "a")->uid, "u");
    state_find(state, "a")->status = RECORD_APPLIED;
    value = state_to_value(state);
    EXPECT_INT(state_from_value(value, &back, NULL), 0, "read");
    again = state_to_value(back);
    EXPECT(value_equal(value, again), "the same");
    EXPECT_INT(state_find(back, "a")->status, RECORD_APPLIED, "applied");
    EXPECT_INT(state_find(back, "b")->status, RECORD_INTENT, "an intent");
    expect_records(back, "cab", "in order");
}

#define HEAD "{\"format\":1,\"spec\":{\"namespace\":\"n\",\"name\":\"s\"},\"resources\":"

static void what_is_no_state_is_damage(void)
{
    static const struct {
        const char *note, *json;
        int code;
    } rows[] = {
        {"empty", HEAD "[]}", 0},
        {"a record", HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}}]}", 0},
        {"another format", "{\"format\":2,\"resources\":[]}", ERR_CORRUPT},
        {"no format", "{\"resources\":[]}", ERR_CORRUPT},
        {"no resources", "{\"format\":1}", ERR_CORRUPT},
        {"resources of another type", HEAD "{}}", ERR_CORRUPT},
        {"no object", "[]", ERR_CORRUPT},
        {"a record without id", HEAD "[{\"type\":\"t\",\"attributes\":{}}]}", ERR_CORRUPT},
        {"a record without type", HEAD "[{\"id\":\"a\",\"attributes\":{}}]}", ERR_CORRUPT},
        {"a record without attributes", HEAD "[{\"id\":\"a\",\"type\":\"t\"}]}", ERR_CORRUPT},
        {"attributes that are none", HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":null}]}",
         ERR_CORRUPT},
        {"an id twice",
         HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}},"
              "{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}}]}",
         ERR_CORRUPT},
        {"one damaged among good ones", HEAD "[{\"id\":\"a\",\"type\":\"t\",\"attributes\":{}},7]}",
         ERR_CORRUPT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = parse(rows[i].json);
        struct state *state = NULL;
        struct error error = {0};

        EXPECT_INT(state_from_value(value, &state, &error), rows[i].code, rows[i].note);
        EXPECT_INT(error.code, rows[i].code, rows[i].note);
        EXPECT((state != NULL) == (rows[i].code == 0), rows[i].note);
        state_free(state);
    }
}

static void names_keys_apart(void)
{
    static const struct state_key keys[] = {{"a", "b"}, {"a", "c"}, {"a/b", "c"}, {"b", "a"}};
    char names[ARRAY_SIZE(keys)][STATE_NAME_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        state_key_name(&keys[i], names[i]);
        EXPECT(str_has_prefix(names[i], "kusion-") && strlen(names[i]) == STATE_NAME_SIZE - 1,
               names[i]);
        EXPECT(str_is_dns_label(names[i]), "a label's value, an object's name");
        for (size_t k = 0; k < i; k++)
            EXPECT(strcmp(names[i], names[k]) != 0, names[i]);
    }
}

SUITE(state, TEST(makes_a_record_once), TEST(drops_and_keeps_the_order_recorded),
      TEST(dropping_all_is_linear), TEST(a_copy_is_its_own), TEST(sets_fields_to_what_they_are),
      TEST(digests_mean_what_is_sent), TEST(has_kusions_shape), TEST(comes_back_from_its_value),
      TEST(what_is_no_state_is_damage), TEST(names_keys_apart))
