/* Approved plans as values: what is read again is what was written, or nothing is. */
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/plan/approved_value.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

#define KEY "a key"

static void free_step(struct runtime_step *step)
{
    value_unref(step->before);
    value_unref(step->after);
    value_unref(step->shown_after);
    free(step);
}

static const struct runtime_ops ops = {.type = "Test", .step_free = free_step};
static const struct resource resource = {.id = "r"};

static struct runtime_step *step_of(const char *uid, int before, const char *after)
{
    struct runtime_step *step = NEW(struct runtime_step);

    *step = (struct runtime_step){.ops = &ops, .uid = uid, .before = value_pack("i", before)};
    step->after = after ? value_pack("{s:s, s:u, s:{s:u}}", "x", after, "y", "z", "w") : NULL;
    return step;
}

/* One change of each action. shown: what a dry-run makes of each, or NULL. */
static struct plan *plan_that_shows(const char *x, const char *shown)
{
    static const struct {
        const char *id;
        enum plan_action action;
        bool leaves;
    } rows[] = {
        {"created", PLAN_CREATE, false},   {"unchanged", PLAN_UNCHANGED, false},
        {"adopted", PLAN_ADOPT, false},    {"updated", PLAN_UPDATE, false},
        {"replaced", PLAN_REPLACE, false}, {"deferred", PLAN_DEFERRED, false},
        {"unknown", PLAN_UNKNOWN, false},  {"deleted", PLAN_DELETE, true},
        {"read", PLAN_READ, false},        {"forgotten", PLAN_FORGET, true},
        {"deleted", PLAN_DEFERRED, true},
    };
    struct plan *plan = plan_new(8, 3);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan_change *change = &plan->changes[i];

        change->id = rows[i].id;
        change->type = "Test";
        change->action = rows[i].action;
        change->resource = rows[i].leaves ? NULL : &resource;
        change->create_first = rows[i].action == PLAN_REPLACE;
        change->has_unknown = rows[i].action == PLAN_UPDATE;
        change->step = step_of("u", 1, rows[i].leaves ? NULL : x);
        if (shown)
            change->step->shown_after = value_pack("{s:s, s:u}", "x", shown, "at");
        if (rows[i].action == PLAN_REPLACE)
            change->removal = step_of("v", 2, NULL);
    }
    return plan;
}

static struct plan *plan_of(const char *x)
{
    return plan_that_shows(x, "shown");
}

static const struct value *written_with(const char *x, const char *shown)
{
    struct plan *plan = plan_that_shows(x, shown);
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved =
        approved_plan_new(plan, KEY, strlen(KEY));
    const struct value *value = approved_plan_to_value(approved);

    plan_free(plan);
    return value;
}

static const struct value *written(const char *x)
{
    return written_with(x, "shown");
}

static int read(const struct value *value, struct approved_plan **ret, struct error *error)
{
    _cleanup_value_ const struct value *approved = written("1");

    return approved_plan_from_value(value, KEY, strlen(KEY), value_get_string(approved, "digest"),
                                    ret, error);
}

static void is_the_same_when_read_again(void)
{
    _cleanup_value_ const struct value *value = written("1"), *again = NULL;
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;
    struct plan *plan = plan_of("1"), *other = plan_of("2");
    char digest[HASH_HEX_SIZE], of_plan[HASH_HEX_SIZE];
    struct error error = {0};

    EXPECT_INT(read(value, &approved, &error), 0, error.message);
    EXPECT_INT((long long)value_count(value_get(value, "steps")), 10, "all but what is unchanged");
    again = approved_plan_to_value(approved);
    EXPECT(value_equal(value, again), "the same value");
    approved_plan_digest(approved, digest);
    plan_digest(plan, KEY, strlen(KEY), of_plan);
    EXPECT_STR(digest, of_plan, "the plan's digest");
    EXPECT_STR(value_get_string(value, "digest"), of_plan, "and the value's");
    for (size_t i = 0; i < plan->n_changes; i++) {
        int covered =
            plan->changes[i].action == PLAN_DEFERRED || plan->changes[i].action == PLAN_UNKNOWN
                ? NOT_COVERED
                : CONFORMS;

        EXPECT_INT(approved_plan_check(approved, &plan->changes[i], NULL), covered,
                   plan->changes[i].id);
        EXPECT_INT(approved_plan_has_unknown(approved, &plan->changes[i]),
                   plan->changes[i].action == PLAN_UPDATE, plan->changes[i].id);
        if (other->changes[i].resource && covered == CONFORMS &&
            other->changes[i].action != PLAN_UNCHANGED)
            EXPECT_INT(approved_plan_check(approved, &other->changes[i], NULL), ERR_CONFLICT,
                       plan->changes[i].id);
    }
    plan_free(plan);
    plan_free(other);
}

static void needs_the_key(void)
{
    _cleanup_value_ const struct value *value = written("1");
    struct approved_plan *approved = NULL;

    EXPECT_INT(approved_plan_from_value(value, "another", 7, value_get_string(value, "digest"),
                                        &approved, NULL),
               ERR_CORRUPT, "key");
    EXPECT(!approved, "nothing");
}

/* Each member of the value and of each step, missing, and as another value. */
static void expect_damage(const struct value *damaged, const char *note)
{
    struct approved_plan *approved = NULL;
    struct error error = {0};

    EXPECT_INT(read(damaged, &approved, &error), ERR_CORRUPT, note);
    EXPECT_STR(error.reason, "PlanCorrupt", note);
    EXPECT(!approved, note);
    approved_plan_unref(approved);
}

static const struct value *with_step(const struct value *value, size_t index,
                                     const struct value *step)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *old = value_get(value, "steps");
    _cleanup_value_ const struct value *steps = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(old); i++)
        if (i != index)
            value_add(b, value_at(old, i));
        else if (step)
            value_add(b, step);
    value_end_array(b);
    value_builder_finish(b, &steps, NULL);
    return value_with(value, "steps", steps);
}

static void damage_step(const struct value *value, size_t index, const struct value *step)
{
    static const char *const others[] = {"null",        "0",          "\"\"",    "\"x\"",
                                         "\"created\"", "\"update\"", "false",   "true",
                                         "[]",          "[1]",        "[\"x\"]", "{}"};

    for (size_t m = 0; m < value_count(step); m++) {
        const char *key = value_member_key(step, m, NULL);
        _cleanup_value_ const struct value *without = value_without(step, key),
                                           *all = with_step(value, index, without);

        expect_damage(all, key);
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
            _cleanup_value_ const struct value *other = NULL, *changed = NULL, *whole = NULL;

            json_read(others[i], strlen(others[i]), &other, NULL);
            changed = value_with(step, key, other);
            whole = with_step(value, index, changed);
            if (!value_equal(other, value_member(step, m)))
                expect_damage(whole, key);
        }
    }
}

static void refuses_what_is_damaged(void)
{
    static const char *const texts[] = {"null",
                                        "[]",
                                        "{}",
                                        "{\"format\":1}",
                                        "{\"format\":1,\"steps\":[]}",
                                        "{\"format\":0,\"digest\":\"x\",\"steps\":[]}",
                                        "{\"format\":1,\"digest\":\"\",\"steps\":[]}",
                                        "{\"format\":1,\"digest\":\"x\",\"steps\":[null]}"};
    _cleanup_value_ const struct value *value = written("1"), *more = NULL,
                                       *one = value_pack("i", 1);
    const struct value *steps = value_get(value, "steps");

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        _cleanup_value_ const struct value *damaged = NULL;

        EXPECT_INT(json_read(texts[i], strlen(texts[i]), &damaged, NULL), 0, texts[i]);
        expect_damage(damaged, texts[i]);
    }
    more = value_with(value, "more", one);
    expect_damage(more, "a member that nobody knows");
    for (size_t i = 0; i < value_count(steps); i++) {
        const struct value *step = value_at(steps, i);
        _cleanup_value_ const struct value *added = value_with(step, "more", one),
                                           *whole = with_step(value, i, added),
                                           *without = with_step(value, i, NULL), *twice = NULL;

        expect_damage(whole, "a member of a step that nobody knows");
        expect_damage(without, "a step is missing");
        damage_step(value, i, step);
    }
}

static void refuses_another_format(void)
{
    _cleanup_value_ const struct value *value = written("1"), *three = value_pack("i", 3),
                                       *newer = value_with(value, "format", three);
    struct approved_plan *approved = NULL;
    struct error error = {0};

    EXPECT_INT(read(newer, &approved, &error), ERR_UNSUPPORTED, "newer");
    EXPECT_STR(error.message, "the approved plan is of format 3, which this version does not read",
               "message");
}

/* What an earlier version has written, and what is written where nothing was tried. */
static void reads_what_has_nothing_shown(void)
{
    _cleanup_value_ const struct value *value = written_with("1", NULL), *with = written("1");
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;
    struct plan *plan = plan_that_shows("1", "anything");
    struct error error = {0};

    EXPECT_INT(value_int(value_get(value, "format"), 0), 1, "as before");
    EXPECT(!value_get(value, "seal"), "as before");
    EXPECT_STR(value_get_string(value, "digest"), value_get_string(with, "digest"),
               "the plan's digest");
    EXPECT_INT(read(value, &approved, &error), 0, error.message);
    EXPECT_INT(approved_plan_check(approved, &plan->changes[0], &error), CONFORMS, error.message);
    EXPECT(!approved_plan_has_shown(approved, &plan->changes[0]), "nothing");
    EXPECT(approved_plan_shows(approved, plan), "nothing to compare");
    plan_free(plan);
}

/* It is not known what was approved. */
static void refuses_another_thing_shown(void)
{
    _cleanup_value_ const struct value *value = written("1"), *other = written_with("1", "other"),
                                       *none = written_with("1", NULL), *one = value_pack("i", 1),
                                       *two = value_pack("i", 2), *mixed = NULL, *older = NULL,
                                       *newer = NULL;

    EXPECT_STR(value_get_string(value_at(value_get(other, "steps"), 0), "id"), "adopted", "0");
    EXPECT_STR(value_get_string(value_at(value_get(other, "steps"), 1), "id"), "created", "1");
    mixed = with_step(value, 1, value_at(value_get(other, "steps"), 1));
    expect_damage(mixed, "of another plan");
    older = value_with(value, "format", one);
    expect_damage(older, "format 1 shows nothing");
    newer = value_with(none, "format", two);
    expect_damage(newer, "format 2 shows something");
}

/* A webhook that was installed since the plan was approved, or is not there any more. */
static void compares_what_a_creation_shows(void)
{
    static const struct {
        const char *shown;
        bool conforms;
    } rows[] = {{"shown", true}, {"other", false}, {NULL, true}};
    _cleanup_value_ const struct value *value = written("1");
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;
    struct error error = {0};

    EXPECT_INT(read(value, &approved, &error), 0, error.message);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct plan *plan = plan_that_shows("1", rows[i].shown);
        const struct plan_change *created = &plan->changes[0];

        EXPECT(approved_plan_has_shown(approved, created), "it has");
        EXPECT(!approved_plan_has_shown(approved, &plan->changes[3]), "an update has it anyway");
        EXPECT_INT(approved_plan_check(approved, created, &error),
                   rows[i].conforms ? CONFORMS : ERR_CONFLICT, rows[i].shown);
        EXPECT(approved_plan_check_known(approved, created, NULL) == CONFORMS, "not compared yet");
        EXPECT(approved_plan_shows(approved, plan) == rows[i].conforms, rows[i].shown);
        plan_free(plan);
    }
    EXPECT_STR(error.reason, "PlanStale", error.message);
    EXPECT_STR(error.message,
               "the API server, or an admission webhook, would make another object of it than the "
               "approved plan shows",
               "message");
}

/* Of a value that was another one each time, anything is as approved. */
static void takes_any_value_that_was_another_each_time(void)
{
    _cleanup_value_ const struct value *value = written("1"), *known = NULL, *less = NULL;
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;
    struct plan *plan = plan_of("1");
    struct runtime_step *step = plan->changes[0].step;

    EXPECT_INT(read(value, &approved, NULL), 0, "read");
    known = value_pack("{s:s, s:s}", "x", "shown", "at", "now");
    less = value_pack("{s:s}", "x", "shown");
    value_assign(&step->shown_after, known);
    EXPECT_INT(approved_plan_check(approved, &plan->changes[0], NULL), CONFORMS, "known now");
    EXPECT(approved_plan_shows(approved, plan), "not compared before it is due");
    value_assign(&step->shown_after, less);
    EXPECT_INT(approved_plan_check(approved, &plan->changes[0], NULL), CONFORMS, "absent now");
    plan_free(plan);
}

/* It is valid, and not what was approved. */
static void refuses_another_plan(void)
{
    _cleanup_value_ const struct value *other = written("2");

    expect_damage(other, "another plan");
}

/* More paths would allow more than was approved. */
static void refuses_other_unknown_paths(void)
{
    static const char *const lists[] = {"[\"/after/x\",\"/after/y\",\"/after/z/w\"]",
                                        "[\"/after/z/w\",\"/after/y\"]",
                                        "[\"/after/y\"]",
                                        "[\"/after\"]",
                                        "[\"\"]",
                                        "[\"/after/x\"]"};
    _cleanup_value_ const struct value *value = written("1");
    const struct value *steps = value_get(value, "steps");
    size_t index = 0;

    while (strcmp(value_get_string(value_at(steps, index), "id"), "updated") != 0)
        index++;
    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
        _cleanup_value_ const struct value *list = NULL, *step = NULL, *changed = NULL;

        json_read(lists[l], strlen(lists[l]), &list, NULL);
        step = value_with(value_at(steps, index), "unknown", list);
        changed = with_step(value, index, step);
        expect_damage(changed, lists[l]);
    }
}

/* Its canonical text is more than a document holds: a quote is two bytes of it. */
static const struct value *too_large(void)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const size_t length = LIMIT_STRING_BYTES;
    _cleanup_free_ char *text = mem_new_array(length, 1);
    const struct value *value = NULL;

    memset(text, '"', length);
    value_begin_array(b);
    value_add_string_n(b, text, length);
    value_add_string_n(b, text, length);
    value_end_array(b);
    EXPECT_INT(value_builder_finish(b, &value, NULL), 0, "a value");
    return value;
}

/* Two such values may have the same beginning. */
static void does_not_cover_what_cannot_be_digested(void)
{
    struct plan *plan = plan_of("1"), *large = plan_of("1");
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL, *of_large = NULL;

    value_unref(large->changes[0].step->after);
    large->changes[0].step->after = too_large();
    approved = approved_plan_new(plan, KEY, strlen(KEY));
    of_large = approved_plan_new(large, KEY, strlen(KEY));
    EXPECT_INT(approved_plan_check(of_large, &large->changes[0], NULL), NOT_COVERED, "not covered");
    EXPECT_INT(approved_plan_check(of_large, &plan->changes[0], NULL), NOT_COVERED, "nor another");
    EXPECT_INT(approved_plan_check(approved, &large->changes[0], NULL), ERR_CONFLICT, "stale");
    plan_free(plan);
    plan_free(large);
}

SUITE(plan_approved_value, TEST(is_the_same_when_read_again), TEST(needs_the_key),
      TEST(refuses_what_is_damaged), TEST(refuses_another_format), TEST(refuses_another_plan),
      TEST(refuses_other_unknown_paths), TEST(does_not_cover_what_cannot_be_digested),
      TEST(reads_what_has_nothing_shown), TEST(refuses_another_thing_shown),
      TEST(compares_what_a_creation_shows), TEST(takes_any_value_that_was_another_each_time))
