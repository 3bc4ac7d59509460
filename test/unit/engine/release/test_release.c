#include "engine/release/release.h"

#include "test/unit/suite.h"

static void phases_follow_each_other(void)
{
    static const struct {
        enum release_operation operation;
        enum release_phase from, to;
        bool may;
    } rows[] = {
        {RELEASE_APPLY, PHASE_NONE, PHASE_GENERATING, true},
        {RELEASE_APPLY, PHASE_GENERATING, PHASE_PREVIEWING, true},
        {RELEASE_APPLY, PHASE_PREVIEWING, PHASE_APPLYING, true},
        {RELEASE_APPLY, PHASE_PREVIEWING, PHASE_DESTROYING, false},
        {RELEASE_APPLY, PHASE_APPLYING, PHASE_SUCCEEDED, true},
        {RELEASE_APPLY, PHASE_PREVIEWING, PHASE_SUCCEEDED, true},
        {RELEASE_APPLY, PHASE_NONE, PHASE_APPLYING, true},
        {RELEASE_APPLY, PHASE_NONE, PHASE_SUCCEEDED, true},
        {RELEASE_APPLY, PHASE_NONE, PHASE_NONE, false},
        {RELEASE_APPLY, PHASE_APPLYING, PHASE_PREVIEWING, false},
        {RELEASE_APPLY, PHASE_APPLYING, PHASE_AWAITING_APPROVAL, false},
        {RELEASE_APPLY, PHASE_PREVIEWING, PHASE_AWAITING_APPROVAL, true},
        {RELEASE_APPLY, PHASE_AWAITING_APPROVAL, PHASE_APPLYING, true},
        {RELEASE_PREVIEW, PHASE_PREVIEWING, PHASE_AWAITING_APPROVAL, false},
        {RELEASE_PREVIEW, PHASE_NONE, PHASE_SUCCEEDED, true},
        {RELEASE_DESTROY, PHASE_NONE, PHASE_APPLYING, false},
        {RELEASE_DESTROY, PHASE_NONE, PHASE_ROLLING_BACK, false},
        {RELEASE_PREVIEW, PHASE_PREVIEWING, PHASE_SUCCEEDED, true},
        {RELEASE_PREVIEW, PHASE_PREVIEWING, PHASE_APPLYING, false},
        {RELEASE_DESTROY, PHASE_NONE, PHASE_DESTROYING, true},
        {RELEASE_APPLY, PHASE_APPLYING, PHASE_FAILED, true},
        {RELEASE_APPLY, PHASE_SUCCEEDED, PHASE_FAILED, false},
        {RELEASE_APPLY, PHASE_FAILED, PHASE_APPLYING, false},
        {RELEASE_APPLY, PHASE_CANCELLED, PHASE_GENERATING, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        EXPECT_INT(release_phase_may_follow(rows[i].operation, rows[i].from, rows[i].to),
                   rows[i].may, release_phase_name(rows[i].to));
}

static void names_are_read_as_they_are_written(void)
{
    for (int i = PHASE_NONE; i <= PHASE_CANCELLED; i++) {
        enum release_phase phase = PHASE_NONE;

        EXPECT(release_phase_parse(release_phase_name((enum release_phase)i), &phase), "parse");
        EXPECT_INT(phase, i, "phase");
    }
}

static void revisions_count_from_one(void)
{
    EXPECT_INT(release_next_revision(0, 0), 1, "first");
    EXPECT_INT(release_next_revision(3, 7), 8, "by Releases");
    EXPECT_INT(release_next_revision(9, 7), 10, "by State");
}

static void long_names_fit_and_stay_apart(void)
{
    struct arena arena = ARENA_INIT;
    char a[254], b[254];
    const char *name;

    memset(a, 'x', 253);
    a[253] = '\0';
    memcpy(b, a, sizeof(b));
    b[252] = 'y';
    name = release_name(&arena, a, 12);
    EXPECT_INT((long long)strlen(name), 253, "fits");
    EXPECT(strcmp(name, release_name(&arena, b, 12)) != 0, "apart");
    EXPECT_STR(release_name(&arena, "web", 3), "web-3", "short");
    arena_done(&arena);
}

SUITE(release, TEST(phases_follow_each_other), TEST(names_are_read_as_they_are_written),
      TEST(revisions_count_from_one), TEST(long_names_fit_and_stay_apart))
