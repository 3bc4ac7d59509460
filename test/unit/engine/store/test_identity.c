#include "engine/store/identity.h"

#include <stdlib.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

#define NONE                \
    {                       \
        .is_damaged = false \
    }

static const struct store_places places = {"file:/states", "the record"};

/* ---- As they are kept ---- */

static void identities_are_read_as_they_were_written(void)
{
    static const struct store_identity rows[] = {
        {.term = {"a1", 7, "w1"}},
        {.term = {"a1", 1, "w1"}, .moved_to = (char *)(uintptr_t) "file:/new"},
        {.copied_from = (char *)(uintptr_t) "file:/old"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct store_identity read;

        store_identity_write(&rows[i], &text);
        store_identity_parse(&text, &read);
        EXPECT(store_term_equal(&read.term, &rows[i].term), text.data);
        EXPECT_STR(read.moved_to, rows[i].moved_to, text.data);
        EXPECT_STR(read.copied_from, rows[i].copied_from, text.data);
        EXPECT(!read.is_damaged, text.data);
        store_identity_done(&read);
    }
}

static void what_is_no_identity_is_damaged(void)
{
    static const char *const rows[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"term\":{}}",
        "{\"term\":{\"id\":\"a\",\"write\":\"b\"}}",
        "{\"term\":{\"id\":\"a\",\"counter\":0,\"write\":\"b\"}}",
        "{\"term\":{\"id\":\"a\",\"counter\":1}}",
        "{\"term\":{\"id\":\"0123456789012345678901234567890123\",\"counter\":1,\"write\":\"b\"}}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct store_identity read;

        buf_add_str(&text, rows[i]);
        store_identity_parse(&text, &read);
        EXPECT(read.is_damaged, rows[i]);
        store_identity_done(&read);
    }
}

static void claims_are_read_as_they_were_written(void)
{
    static const struct store_claim rows[] = {
        {.term = {"a1", 7, "w1"}},
        {.next = {"a1", 1, "w1"}},
        {.term = {"a1", 7, "w1"}, .next = {"b2", 8, "w2"}, .accepted = "d1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = store_claim_to_value(&rows[i]);
        struct store_claim read;

        store_claim_from_value(value, &read);
        EXPECT(!read.is_damaged, "read");
        EXPECT(store_term_equal(&read.term, &rows[i].term), "its term");
        EXPECT(store_term_equal(&read.next, &rows[i].next), "the next");
        EXPECT_STR(read.accepted, rows[i].accepted, "what was accepted");
    }
}

static void what_is_no_claim_is_damaged(void)
{
    const struct value *rows[] = {
        NULL,
        value_pack("{}"),
        value_pack("{s:s}", "id", "a"),
        value_pack("{s:s, s:s, s:s}", "id", "a", "counter", "x", "write", "w"),
        value_pack("{s:s, s:s, s:s}", "id", "a", "counter", "0", "write", "w"),
        value_pack("{s:s, s:s, s:s, s:s}", "id", "a", "counter", "1", "write", "w", "nextId", "b"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct store_claim read;

        store_claim_from_value(rows[i], &read);
        EXPECT(read.is_damaged && !read.term.counter, "damaged");
        value_unref(rows[i]);
    }
}

/* ---- What to do ---- */

static void says_what_is_to_be_done(void)
{
    static const struct {
        const char *note;
        struct store_identity identity;
        struct store_claim claim;
        enum store_step step;
        const char *reason, *words;
    } rows[] = {
        {"the first start, or the first one of this version", NONE, NONE, STORE_STEP_RAISE, "", ""},
        {"a start like any other",
         {.term = {"a", 3, "w"}},
         {.term = {"a", 3, "w"}},
         STORE_STEP_RAISE,
         "",
         ""},
        {"killed after write 1 of the first start",
         NONE,
         {.next = {"a", 1, "w"}},
         STORE_STEP_STORE,
         "",
         ""},
        {"killed after write 1",
         {.term = {"a", 3, "w"}},
         {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}},
         STORE_STEP_STORE,
         "",
         ""},
        {"killed after write 2",
         {.term = {"a", 4, "v"}},
         {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}},
         STORE_STEP_SETTLE,
         "",
         ""},
        {"an empty store",
         NONE,
         {.term = {"a", 3, "w"}},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "it is empty, or another place"},
        {"an empty one, killed in a raise",
         NONE,
         {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "it is empty, or another place"},
        {"the record was deleted",
         {.term = {"a", 3, "w"}},
         NONE,
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "there is no the record"},
        {"another store",
         {.term = {"b", 3, "w"}},
         {.term = {"a", 3, "w"}},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "not the one that the record remembers"},
        {"another one, taken in a first start",
         {.term = {"b", 1, "x"}},
         {.next = {"a", 1, "w"}},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "not the one"},
        {"another operator, of a copy of the record, has raised it",
         {.term = {"a", 4, "x"}},
         {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "another operator has taken it"},
        {"the store is of yesterday",
         {.term = {"a", 2, "u"}},
         {.term = {"a", 3, "w"}},
         STORE_STEP_REFUSED,
         "StoreRestored",
         "was begun 2 times, and by the record 3 times"},
        {"by one start alone, in a raise",
         {.term = {"a", 2, "u"}},
         {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}},
         STORE_STEP_REFUSED,
         "StoreRestored",
         "2 times"},
        {"the record is of yesterday",
         {.term = {"a", 4, "v"}},
         {.term = {"a", 3, "w"}},
         STORE_STEP_REFUSED,
         "StoreRestored",
         "was begun 4 times"},
        {"State was moved",
         {.term = {"a", 3, "w"}, .moved_to = (char *)(uintptr_t) "file:/new"},
         {.term = {"a", 3, "w"}},
         STORE_STEP_REFUSED,
         "StoreMoved",
         "State is in file:/new now"},
        {"half a copy",
         {.copied_from = (char *)(uintptr_t) "file:/old"},
         NONE,
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "a copy from file:/old"},
        {"a damaged identity",
         {.is_damaged = true},
         NONE,
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "its identity is damaged"},
        {"a damaged record",
         NONE,
         {.is_damaged = true},
         STORE_STEP_REFUSED,
         "StoreReplaced",
         "the record, which is damaged"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error why = {0};

        EXPECT_INT(store_step(&rows[i].identity, &rows[i].claim, &places, &why), rows[i].step,
                   rows[i].note);
        EXPECT_STR(why.reason, rows[i].reason, rows[i].note);
        EXPECT(strstr(why.message, rows[i].words), rows[i].note);
        EXPECT(rows[i].step != STORE_STEP_REFUSED || strstr(why.message, "--accept-store="),
               rows[i].note);
    }
}

/* ---- Accepting ---- */

static const struct store_identity empty;
static const struct store_claim known = {.term = {"a", 3, "w"}};

static void a_token_is_of_two_sides_alone(void)
{
    static const struct {
        struct store_identity identity;
        struct store_claim claim;
        struct store_places places;
    } rows[] = {
        {NONE, {.term = {"a", 3, "w"}}, {"file:/states", "the record"}},
        {NONE, {.term = {"a", 3, "w"}}, {"file:/other", "the record"}},
        {NONE, {.term = {"a", 3, "w"}}, {"file:/states", "another record"}},
        {NONE, {.term = {"a", 4, "w"}}, {"file:/states", "the record"}},
        {NONE, {.term = {"a", 3, "w"}, .next = {"a", 4, "v"}}, {"file:/states", "the record"}},
        {{.is_damaged = true}, {.term = {"a", 3, "w"}}, {"file:/states", "the record"}},
        {{.term = {"b", 3, "w"}}, {.term = {"a", 3, "w"}}, {"file:/states", "the record"}},
        {{.term = {"b", 4, "w"}}, {.term = {"a", 3, "w"}}, {"file:/states", "the record"}},
        {{.term = {"b", 4, "w"}, .moved_to = (char *)(uintptr_t) "file:/new"},
         {.term = {"a", 3, "w"}},
         {"file:/states", "the record"}},
    };
    char tokens[ARRAY_SIZE(rows)][STORE_TOKEN_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        store_token(&rows[i].identity, &rows[i].claim, &rows[i].places, tokens[i]);
        for (size_t j = 0; j < i; j++)
            EXPECT(!str_equal(tokens[i], tokens[j]), "another one");
    }
}

static void what_was_accepted_goes_on_after_a_kill(void)
{
    struct store_claim claim = known;
    struct store_identity identity = {0};
    struct error why = {0};

    store_claim_accept(&claim, &empty, &places, "b", "v");
    EXPECT_INT(store_step(&empty, &claim, &places, &why), STORE_STEP_STORE, "before write 2");
    EXPECT(!str_equal(claim.next.id, claim.term.id), "another operator finds that out");
    EXPECT_INT(claim.next.counter, 4, "it never falls");
    identity.term = claim.next;
    EXPECT_INT(store_step(&identity, &claim, &places, &why), STORE_STEP_SETTLE, "after it");
    store_claim_settle(&claim);
    EXPECT_INT(store_step(&identity, &claim, &places, &why), STORE_STEP_RAISE, "and from then on");
    EXPECT_INT(store_step(&empty, &claim, &places, &why), STORE_STEP_REFUSED, "once");
}

static void what_comes_after_the_acceptance_is_not_accepted(void)
{
    const struct store_places elsewhere = {"file:/other", "the record"};
    const struct store_identity another = {.term = {"c", 9, "x"}}, own = {.term = {"a", 3, "w"}};
    struct store_claim claim = known;
    struct error why = {0};

    store_claim_accept(&claim, &empty, &places, "b", "v");
    EXPECT_INT(store_step(&another, &claim, &places, &why), STORE_STEP_REFUSED, "another store");
    EXPECT_INT(store_step(&empty, &claim, &elsewhere, &why), STORE_STEP_REFUSED,
               "an empty one elsewhere");
    EXPECT_INT(store_step(&own, &claim, &places, &why), STORE_STEP_RAISE,
               "the operator's own is right all the same");
    store_claim_raise(&claim, "d", "y");
    EXPECT_STR(claim.next.id, "a", "and stays what it is");
}

static void damage_and_marks_can_be_accepted(void)
{
    static const struct store_identity rows[] = {
        {.is_damaged = true},
        {.term = {"a", 3, "w"}, .moved_to = (char *)(uintptr_t) "file:/new"},
        {.copied_from = (char *)(uintptr_t) "file:/old"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct store_claim claim = {.is_damaged = true};
        struct error why = {0};

        store_claim_accept(&claim, &rows[i], &places, "b", "v");
        EXPECT_INT(store_step(&rows[i], &claim, &places, &why), STORE_STEP_STORE, "accepted");
    }
}

/* ---- Any life ---- */

/* Two processes of one operator, of which each may be slow: whatever the order of their writes,
 * they agree with the store in the end, and neither refuses it. */
static void no_order_of_writes_is_taken_for_another_store(void)
{
    for (unsigned seed = 0; seed < 2000; seed++) {
        struct store_identity identity = {0};
        struct store_claim claim = {0};
        unsigned chance = seed * 2654435761u + 1, versions[2] = {0}; /* of identity and claim */
        struct {
            struct store_identity identity;
            struct store_claim claim;
            unsigned versions[2];
        } seen[2] = {0};

        for (unsigned n = 0; n < 24; n++) {
            struct error why = {0};
            unsigned who;
            enum store_step step;

            chance = chance * 1664525u + 1013904223u;
            who = chance >> 30 & 1;
            if (chance >> 28 & 1) { /* it reads, as a process that begins, or goes on */
                seen[who].identity = identity;
                seen[who].claim = claim;
                memcpy(seen[who].versions, versions, sizeof(versions));
                continue;
            }
            step = store_step(&seen[who].identity, &seen[who].claim, &places, &why);
            EXPECT(step != STORE_STEP_REFUSED || seen[who].versions[0] != versions[0] ||
                       seen[who].versions[1] != versions[1],
                   why.message);
            if (step == STORE_STEP_STORE && seen[who].versions[0] == versions[0]) {
                identity.term = seen[who].claim.next;
                versions[0]++;
            } else if (step != STORE_STEP_STORE && seen[who].versions[1] == versions[1]) {
                _cleanup_free_ char *write = str_printf("%u-%u", seed, n);

                claim = seen[who].claim;
                if (step == STORE_STEP_SETTLE)
                    store_claim_settle(&claim);
                else
                    store_claim_raise(&claim, write, write);
                versions[1]++;
            }
        }
    }
}

SUITE(identity, TEST(identities_are_read_as_they_were_written),
      TEST(what_is_no_identity_is_damaged), TEST(claims_are_read_as_they_were_written),
      TEST(what_is_no_claim_is_damaged), TEST(says_what_is_to_be_done),
      TEST(a_token_is_of_two_sides_alone), TEST(what_was_accepted_goes_on_after_a_kill),
      TEST(what_comes_after_the_acceptance_is_not_accepted), TEST(damage_and_marks_can_be_accepted),
      TEST(no_order_of_writes_is_taken_for_another_store))
