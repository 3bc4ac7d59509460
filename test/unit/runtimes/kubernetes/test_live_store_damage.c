/* The store where something happened to what it wrote, or to itself: store_fixture.h. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/store_fixture.h"
#include "test/unit/suite.h"

/* ---- Damage ---- */

static void says_what_is_damaged(void)
{
    static const struct {
        const char *note;
        size_t bytes;
        const char *collection, *suffix; /* of the chunk; NULL: the head */
        enum damage how;
        const char *merge; /* into the object, where it is MERGED */
        bool names_head;   /* instead of what was damaged */
    } rows[] = {
        {"a chunk is missing", LARGE, MAPS, "-o0", MISSING, NULL, false},
        {"the last chunk is missing", LARGE, MAPS, "-o2", MISSING, NULL, false},
        {"a chunk is damaged", LARGE, MAPS, "-o1", OVERWRITTEN, NULL, false},
        {"a chunk and its checksum are", LARGE, MAPS, "-o1", OVERWRITTEN_WITHOUT_CHECKSUM, NULL,
         true},
        {"what is secret is missing", 10, SECRETS, "-s0", MISSING, NULL, false},
        {"what is secret is damaged", LARGE, SECRETS, "-s1", OVERWRITTEN, NULL, false},
        {"the head is empty", 10, MAPS, NULL, MERGED, "{\"data\":null,\"binaryData\":null}", true},
        {"the head's State is missing", 10, MAPS, NULL, MERGED, "{\"binaryData\":null}", true},
        {"the head's State is empty", 10, MAPS, NULL, MERGED, "{\"binaryData\":{\"state\":\"\"}}",
         true},
        {"the head's State is cut off", 10, MAPS, NULL, MERGED,
         "{\"binaryData\":{\"state\":\"H4sIAAAAAAAA\"}}", true},
        {"the head's State is text", 10, MAPS, NULL, MERGED,
         "{\"binaryData\":null,\"data\":{\"state\":\"{}\"}}", true},
        {"the head's checksum is missing", 10, MAPS, NULL, MERGED, "{\"data\":{\"checksum\":null}}",
         true},
        {"the head's checksum is another", 10, MAPS, NULL, MERGED,
         "{\"data\":{\"checksum\":\"0000\"}}", true},
        {"the head forgot that there are secrets", 10, MAPS, NULL, MERGED,
         "{\"data\":{\"secretChecksum\":null,\"secretChunks\":null}}", true},
        {"the head forgot their checksum", 10, MAPS, NULL, MERGED,
         "{\"data\":{\"secretChecksum\":null}}", true},
        {"the head says too few chunks", LARGE, MAPS, NULL, MERGED, "{\"data\":{\"chunks\":\"2\"}}",
         true},
        {"no chunks at all", LARGE, MAPS, NULL, MERGED, "{\"data\":{\"chunks\":\"0\"}}", true},
        {"a number of chunks that is none", LARGE, MAPS, NULL, MERGED,
         "{\"data\":{\"chunks\":\"-1\"}}", true},
        {"more chunks than there can be", LARGE, MAPS, NULL, MERGED,
         "{\"data\":{\"chunks\":\"99999999999\"}}", true},
        {"a format to come", 10, MAPS, NULL, MERGED, "{\"data\":{\"format\":\"2\"}}", true},
    };
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *spec_name = str_printf("row-%zu", i);
        _cleanup_free_ char *version = NULL, *name = NULL, *path = NULL, *expected = NULL;
        _cleanup_(state_free_p) struct state *state = NULL;
        struct state *loaded = NULL;

        fixture_turn_to(&fixture, spec_name);
        state = fixture_make(&fixture, (unsigned)i, rows[i].bytes, true);
        EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
        name = rows[i].suffix ? fixture_chunk(&fixture, rows[i].collection, rows[i].suffix)
                              : str_new(fixture.head);
        path = str_printf("%s/%s", rows[i].collection, name);
        fixture_damage(&fixture, path, rows[i].how, rows[i].merge);
        free(version);
        version = NULL;

        EXPECT_INT(fixture_load(&fixture, &loaded, &version), ERR_CORRUPT, rows[i].note);
        EXPECT(!loaded && !version, "no State comes of it");
        EXPECT_STR(fixture.error.reason, STATE_CORRUPT, rows[i].note);
        expected = str_printf("%s %s/%s", strcmp(rows[i].collection, MAPS) ? "Secret" : "ConfigMap",
                              fixture.live.space, rows[i].names_head ? fixture.head : name);
        EXPECT(strstr(fixture.error.message, expected) != NULL, fixture.error.message);
        EXPECT_INT(live_do(&fixture.live, "DELETE", MAPS, NULL, NULL, NULL), 0, "all away");
        EXPECT_INT(live_do(&fixture.live, "DELETE", SECRETS, NULL, NULL, NULL), 0, "all away");
    }
    fixture_end(&fixture);
}

/* ---- Killed half-way ---- */

/* Before a save of `next` bytes, others are killed. */
static void the_next_save_collects_what_a_killed_one_left(void)
{
    static const struct {
        const char *note;
        size_t before, next; /* bytes of noise; before: 0: no State */
        bool secret;
        size_t maps, secrets;
    } rows[] = {
        {"small ones", 10, 10, false, 1, 0},
        {"large ones", LARGE, LARGE, true, 4, 3},
        {"the first of all", 0, 10, false, 1, 0},
        {"large before", LARGE, 10, false, 1, 0},
    };
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *spec_name = str_printf("row-%zu", i), *version = NULL;
        _cleanup_(state_free_p) struct state *before = NULL, *killed = NULL, *next = NULL;

        fixture_turn_to(&fixture, spec_name);
        before = fixture_make(&fixture, 1, rows[i].before, rows[i].secret);
        killed = fixture_make(&fixture, 2, LARGE, true);
        next = fixture_make(&fixture, 3, rows[i].next, rows[i].secret);
        if (rows[i].before)
            EXPECT_INT(fixture_save(&fixture, before, &version), 0, fixture.error.message);
        fixture_begin_to_save(&fixture, killed);
        fixture_start_again(&fixture);
        if (rows[i].before)
            fixture_expect(&fixture, before, rows[i].note);
        EXPECT_INT(fixture_save(&fixture, next, &version), 0, fixture.error.message);
        fixture_expect(&fixture, next, rows[i].note);
        EXPECT_INT(fixture_count(&fixture, MAPS), rows[i].maps, rows[i].note);
        EXPECT_INT(fixture_count(&fixture, SECRETS), rows[i].secrets, rows[i].note);
        EXPECT_INT(
            fixture.store->ops->remove(fixture.store, &fixture.key, version, NULL, &fixture.error),
            0, fixture.error.message);
    }
    fixture_end(&fixture);
}

/* What was begun is done again: its chunks are there, whole, or not. */
static void the_same_save_again_trusts_no_leftover(void)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_free_ char *version = NULL, *name = NULL, *path = NULL, *other = NULL;
    _cleanup_free_ char *secret = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    state = fixture_make(&fixture, 1, LARGE, true);
    fixture_begin_to_save(&fixture, state);
    name = fixture_chunk(&fixture, MAPS, "-o1");
    path = str_printf(MAPS "/%s", name);
    fixture_damage(&fixture, path, OVERWRITTEN, NULL);
    other = fixture_chunk(&fixture, SECRETS, "-s0");
    secret = str_printf(SECRETS "/%s", other);
    fixture_damage(&fixture, secret, MISSING, NULL);
    EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
    fixture_expect(&fixture, state, "as if nothing had been there");
    EXPECT_INT(fixture_count(&fixture, MAPS), 4, "head and chunks");
    EXPECT_INT(fixture_count(&fixture, SECRETS), 3, "chunks");
    fixture_end(&fixture);
}

static void chunks_cannot_be_edited(void)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_free_ char *version = NULL, *name = NULL, *path = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    state = fixture_make(&fixture, 1, LARGE, false);
    EXPECT_INT(fixture_save(&fixture, state, &version), 0, fixture.error.message);
    name = fixture_chunk(&fixture, MAPS, "-o1");
    path = str_printf(MAPS "/%s", name);
    EXPECT_INT(live_do(&fixture.live, "PATCH", path, "{\"binaryData\":{\"state\":\"QUJD\"}}", NULL,
                       &fixture.error),
               ERR_INVALID, "immutable");
    fixture_end(&fixture);
}

/* A writer that falls asleep between its swap and its removals. */
static void a_late_removal_takes_nothing_of_those_who_follow(void)
{
    _cleanup_(leftovers_done) struct leftovers leftovers = {0};
    _cleanup_(state_free_p) struct state *first = NULL, *second = NULL;
    _cleanup_free_ char *version = NULL;
    struct fixture fixture;

    if (!fixture_begin(&fixture))
        return;
    first = fixture_make(&fixture, 1, LARGE, true);
    second = fixture_make(&fixture, 2, LARGE, true);
    EXPECT_INT(fixture_save(&fixture, first, &version), 0, fixture.error.message);
    EXPECT_INT(leftovers_find((struct kube_store *)fixture.store, fixture.head, NULL, NULL,
                              &leftovers, &fixture.error),
               0, fixture.error.message);
    EXPECT_INT(fixture_save(&fixture, second, &version), 0, fixture.error.message);
    EXPECT_INT(leftovers_remove((struct kube_store *)fixture.store, &leftovers, &fixture.error), 0,
               fixture.error.message);
    fixture_expect(&fixture, second, "all of it");
    fixture_end(&fixture);
}

SUITE(live_store_damage, TEST(says_what_is_damaged),
      TEST(the_next_save_collects_what_a_killed_one_left),
      TEST(the_same_save_again_trusts_no_leftover), TEST(chunks_cannot_be_edited),
      TEST(a_late_removal_takes_nothing_of_those_who_follow))
