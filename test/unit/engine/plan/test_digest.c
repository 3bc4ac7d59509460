#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/plan/plan.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static void free_step(struct runtime_step *step)
{
    value_unref(step->before);
    value_unref(step->after);
    value_unref(step->attributes);
    free(step);
}

static const struct runtime_ops ops = {.type = "Test", .step_free = free_step};

/* One change, in short. JSON texts, or NULL; "?" is what is not known. */
struct row {
    const char *note;
    const char *id;
    enum plan_action action;
    const char *uid, *before, *after;
    bool create_first;
    const char *removed; /* uid of the object that is replaced */
    bool is_gone;        /* … which is only forgotten */
};

static const struct value *value_of(const char *text)
{
    const struct value *value = NULL;

    if (text && strcmp(text, "?") == 0)
        return value_pack("u");
    if (text)
        EXPECT_INT(json_read(text, strlen(text), &value, NULL), 0, text);
    return value;
}

static struct runtime_step *step_of(const char *uid, const char *before, const char *after)
{
    struct runtime_step *step = NEW(struct runtime_step);

    *step = (struct runtime_step){
        .ops = &ops, .uid = uid, .before = value_of(before), .after = value_of(after)};
    return step;
}

static void fill(struct plan_change *change, const struct row *row)
{
    change->id = row->id;
    change->type = "Test";
    change->action = row->action;
    change->create_first = row->create_first;
    change->step = step_of(row->uid, row->before, row->after);
    if (row->removed)
        change->removal = step_of(row->removed, NULL, NULL);
    if (row->removed)
        change->removal->action = row->is_gone ? PLAN_FORGET : PLAN_DELETE;
}

static void digest_of(const struct row *rows, size_t n, const char *key, char ret[HASH_HEX_SIZE])
{
    struct plan *plan = plan_new(n, 0);

    for (size_t i = 0; i < n; i++)
        fill(&plan->changes[i], &rows[i]);
    plan_digest(plan, key, strlen(key), ret);
    plan_free(plan);
}

static const struct row first = {"",    "a",  PLAN_UPDATE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}",
                                 false, NULL, false};

static void is_the_same_for_the_same_plan(void)
{
    static const struct row rows[] = {
        {"order of keys", "a", PLAN_UPDATE, "u1", "{\"x\":1}", "{\"y\":3,\"x\":2}", false, NULL,
         false},
        {"spelling of numbers", "a", PLAN_UPDATE, "u1", "{\"x\":1.0}", "{\"x\":2,\"y\":3}", false,
         NULL, false},
    };
    char one[HASH_HEX_SIZE], other[HASH_HEX_SIZE];

    digest_of(&first, 1, "key", one);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        digest_of(&rows[i], 1, "key", other);
        EXPECT_STR(one, other, rows[i].note);
    }
}

static void tells_plans_apart(void)
{
    static const struct row rows[] = {
        {"id", "b", PLAN_UPDATE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}", false, NULL, false},
        {"action", "a", PLAN_ADOPT, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}", false, NULL, false},
        {"another object", "a", PLAN_UPDATE, "u2", "{\"x\":1}", "{\"x\":2,\"y\":3}", false, NULL,
         false},
        {"live", "a", PLAN_UPDATE, "u1", "{\"x\":0}", "{\"x\":2,\"y\":3}", false, NULL, false},
        {"desired", "a", PLAN_UPDATE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":4}", false, NULL, false},
        {"not known", "a", PLAN_UPDATE, "u1", "{\"x\":1}", "?", false, NULL, false},
        {"text of what is not known", "a", PLAN_UPDATE, "u1", "{\"x\":1}",
         "\"(known after apply)\"", false, NULL, false},
        {"replaced", "a", PLAN_REPLACE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}", false, "u0", false},
        {"replaced, the new one first", "a", PLAN_REPLACE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}",
         true, "u0", false},
        {"replaced, another object", "a", PLAN_REPLACE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}",
         true, "u9", false},
        {"replaced, the old one is gone", "a", PLAN_REPLACE, "u1", "{\"x\":1}", "{\"x\":2,\"y\":3}",
         true, "u9", true},
    };
    char digests[ARRAY_SIZE(rows) + 2][HASH_HEX_SIZE];

    digest_of(&first, 1, "key", digests[ARRAY_SIZE(rows)]);
    digest_of(&first, 1, "yek", digests[ARRAY_SIZE(rows) + 1]);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        digest_of(&rows[i], 1, "key", digests[i]);
    for (size_t i = 0; i < ARRAY_SIZE(digests); i++)
        for (size_t k = 0; k < i; k++)
            EXPECT(strcmp(digests[i], digests[k]) != 0, rows[k < ARRAY_SIZE(rows) ? k : 0].note);
}

/* An object that is not ours any more, another one of its name, or none: none of them is touched.
 */
static void counts_no_object_that_is_forgotten(void)
{
    static const char *const uids[] = {"u1", "u2", NULL};
    char digests[ARRAY_SIZE(uids)][HASH_HEX_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
        const struct row row = {"", "a", PLAN_FORGET, uids[i], NULL, NULL, false, NULL, false};
        struct plan *plan = plan_new(1, 0);

        fill(&plan->changes[0], &row);
        plan->changes[0].step->action = PLAN_FORGET;
        plan_digest(plan, "key", 3, digests[i]);
        EXPECT_STR(digests[i], digests[0], uids[i] ? uids[i] : "none");
        plan_free(plan);
    }
}

/* An object with a uid is known by that; what the record in State has of it may change. */
static void counts_what_is_deleted_by_its_uid(void)
{
    static const char *const befores[] = {"{\"x\":1}", "{\"x\":2}"};

    for (int has_uid = 0; has_uid < 2; has_uid++) {
        char digests[2][HASH_HEX_SIZE];

        for (size_t i = 0; i < 2; i++) {
            const struct row row = {
                "", "a", PLAN_DELETE, has_uid ? "u1" : NULL, befores[i], NULL, false, NULL, false};
            struct plan *plan = plan_new(1, 0);

            fill(&plan->changes[0], &row);
            plan->changes[0].step->action = PLAN_DELETE;
            plan_digest(plan, "key", 3, digests[i]);
            plan_free(plan);
        }
        EXPECT_INT(strcmp(digests[0], digests[1]) == 0, has_uid, "the same deletion");
    }
}

/* An object within objects, as deep as values get. Owned by the caller: JSON text. */
static char *nested(const char *leaf)
{
    struct buf text = BUF_INIT;

    for (unsigned i = 0; i < LIMIT_DEPTH; i++)
        buf_add_str(&text, "{\"x\":");
    buf_printf(&text, "\"%s\"", leaf);
    for (unsigned i = 0; i < LIMIT_DEPTH; i++)
        buf_add_char(&text, '}');
    return buf_take(&text);
}

static void tells_apart_what_differs_deep_down(void)
{
    _cleanup_free_ char *one = nested("one"), *other = nested("other");
    const struct row rows[] = {
        {"one", "a", PLAN_CREATE, NULL, NULL, one, false, NULL, false},
        {"other", "a", PLAN_CREATE, NULL, NULL, other, false, NULL, false},
    };
    char digests[2][HASH_HEX_SIZE];

    digest_of(&rows[0], 1, "key", digests[0]);
    digest_of(&rows[1], 1, "key", digests[1]);
    EXPECT(strcmp(digests[0], digests[1]) != 0, "the leaf");
}

/* The Spec's order is no part of what is approved; nor is what stays as it is. */
static void counts_changes_in_any_order(void)
{
    const struct row unchanged = {"", "z", PLAN_UNCHANGED, "u3", NULL, NULL, false, NULL, false};
    const struct row other = {"", "b", PLAN_CREATE, NULL, NULL, "{\"x\":1}", false, NULL, false};
    const struct row plans[][3] = {
        {first, other, unchanged}, {other, unchanged, first}, {unchanged, first, other}};
    char one[HASH_HEX_SIZE], another[HASH_HEX_SIZE], two[HASH_HEX_SIZE];

    digest_of(plans[0], 3, "key", one);
    for (size_t i = 1; i < ARRAY_SIZE(plans); i++) {
        digest_of(plans[i], 3, "key", another);
        EXPECT_STR(one, another, "order");
    }
    digest_of(plans[0], 2, "key", two);
    EXPECT_STR(one, two, "without what is unchanged");
}

/* A value may have no place in the object: an empty string, for example. */
static void counts_what_is_wanted(void)
{
    static const char *const wanted[] = {NULL, "{\"x\":2}", "{\"x\":2,\"e\":\"\"}", "?"};
    char digests[ARRAY_SIZE(wanted)][HASH_HEX_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        struct plan *plan = plan_new(1, 0);

        fill(&plan->changes[0], &first);
        plan->changes[0].step->attributes = value_of(wanted[i]);
        plan_digest(plan, "key", 3, digests[i]);
        for (size_t k = 0; k < i; k++)
            EXPECT(strcmp(digests[i], digests[k]) != 0, wanted[i]);
        plan_free(plan);
    }
}

SUITE(plan_digest, TEST(is_the_same_for_the_same_plan), TEST(tells_plans_apart),
      TEST(counts_no_object_that_is_forgotten), TEST(counts_what_is_deleted_by_its_uid),
      TEST(tells_apart_what_differs_deep_down), TEST(counts_changes_in_any_order),
      TEST(counts_what_is_wanted))
