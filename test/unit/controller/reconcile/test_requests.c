/* Which of the Releases by which people ask for something is the newest. */
#include "controller/reconcile/requests.h"

#include "controller/reconcile/hold.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define EARLY "2026-01-02T03:04:05Z"
#define LATE  "2026-01-02T03:04:06Z"

/* Of Spec "web", unless `spec` says another one. */
struct row {
    const char *release, *uid, *created, *version, *spec, *namespace_name;
    int64_t revision;
};

#define ROW(the_release, the_uid, is_created, its_version, ...)              \
    {                                                                        \
        .release = (the_release), .uid = (the_uid), .created = (is_created), \
        .version = (its_version)__VA_OPT__(, ) __VA_ARGS__                   \
    }

static void add(struct requests *requests, const struct row *row)
{
    _cleanup_(request_done) struct request request = {.release = str_new(row->release),
                                                      .uid = str_new(row->uid),
                                                      .created = str_new(row->created),
                                                      .version = str_new(row->version),
                                                      .revision = row->revision,
                                                      .operation = RELEASE_ROLLBACK,
                                                      .to_revision = 3};
    const struct spec_key spec = {row->namespace_name ? row->namespace_name : "team",
                                  row->spec ? row->spec : "web"};

    requests_add(requests, &spec, &request);
}

static void expect_newest(struct requests *requests, const char *uid, const char *note)
{
    static const struct spec_key web = {"team", "web"};
    _cleanup_(request_done) struct request newest = {0};

    EXPECT(requests_newest(requests, &web, &newest) == (uid != NULL), note);
    EXPECT_STR(newest.uid, uid, note);
}

static void finds_the_newest(void)
{
    static const struct {
        const char *note;
        struct row rows[3];
        const char *newest, *other; /* uids; NULL: none */
    } tables[] = {
        {"none", {{0}}, NULL, NULL},
        {"one", {ROW("a", "1", EARLY, "7")}, "1", NULL},
        {"by time", {ROW("a", "1", LATE, "8"), ROW("b", "2", EARLY, "7")}, "1", "2"},
        {"by version, of one second",
         {ROW("b", "1", EARLY, "7"), ROW("a", "2", EARLY, "8")},
         "2",
         "1"},
        {"whichever is read first",
         {ROW("a", "2", EARLY, "8"), ROW("b", "1", EARLY, "7")},
         "2",
         "1"},
        {"versions are numbers", {ROW("a", "1", EARLY, "10"), ROW("b", "2", EARLY, "9")}, "1", "2"},
        {"an accepted one is older than the rest of its second",
         {ROW("a", "1", EARLY, "9", .revision = 3), ROW("b", "2", EARLY, "8")},
         "2",
         "1"},
        {"those that are not accepted first",
         {ROW("b", "2", EARLY, "8"), ROW("a", "1", EARLY, "9", .revision = 3)},
         "2",
         "1"},
        {"of two accepted ones, by revision",
         {ROW("a", "1", EARLY, "9", .revision = 4), ROW("b", "2", EARLY, "8", .revision = 3)},
         "1",
         "2"},
        {"time counts more",
         {ROW("a", "1", LATE, "8", .revision = 3), ROW("b", "2", EARLY, "9")},
         "1",
         "2"},
        {"the same again",
         {ROW("a", "1", EARLY, "7"), ROW("b", "2", EARLY, "8"), ROW("a", "1", EARLY, "9")},
         "2",
         "1"},
        {"made anew under its name",
         {ROW("a", "1", EARLY, "7"), ROW("a", "2", LATE, "8")},
         "2",
         NULL},
        {"of another Spec",
         {ROW("a", "1", EARLY, "7"), ROW("b", "2", LATE, "8", .spec = "cache")},
         "1",
         NULL},
        {"of another namespace", {ROW("a", "1", LATE, "7", .namespace_name = "other")}, NULL, NULL},
        {"of the same name elsewhere",
         {ROW("a", "1", EARLY, "7"), ROW("a", "2", LATE, "8", .namespace_name = "other")},
         "1",
         NULL},
    };
    static const struct spec_key web = {"team", "web"};

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        _cleanup_(requests_free_p) struct requests *requests = requests_new();
        _cleanup_(request_done) struct request other = {0};

        for (size_t r = 0; r < ARRAY_SIZE(tables[i].rows) && tables[i].rows[r].release; r++)
            add(requests, &tables[i].rows[r]);
        expect_newest(requests, tables[i].newest, tables[i].note);
        EXPECT(requests_other(requests, &web, tables[i].newest, &other) ==
                   (tables[i].other != NULL),
               tables[i].note);
        EXPECT_STR(other.uid, tables[i].other, tables[i].note);
    }
}

static void drops_by_name(void)
{
    _cleanup_(requests_free_p) struct requests *requests = requests_new();
    _cleanup_(request_done) struct request found = {0};

    add(requests, &(struct row)ROW("a", "1", EARLY, "7"));
    add(requests, &(struct row)ROW("b", "2", LATE, "8"));
    add(requests, &(struct row)ROW("b", "3", LATE, "9", .namespace_name = "other"));
    requests_drop(requests, "team", "b");
    expect_newest(requests, "1", "the one that is left");
    EXPECT(requests_find(requests, "3", &found) && found.to_revision == 3, "elsewhere");
    EXPECT(!requests_find(requests, "2", NULL), "dropped");
    requests_drop(requests, "team", "a");
    expect_newest(requests, NULL, "none is left");
}

/* Its Release was read before it ended, and is added after that. */
static void one_that_ended_does_not_come_back(void)
{
    static const struct spec_key web = {"team", "web"};
    static const struct row undo = ROW("a", "1", LATE, "8"), destroy = ROW("b", "2", EARLY, "7");
    _cleanup_(requests_free_p) struct requests *requests = requests_new();
    _cleanup_(request_done) struct request found = {0};

    add(requests, &undo);
    add(requests, &destroy);
    requests_end(requests, "1");
    add(requests, &undo);
    expect_newest(requests, "2", "the one that is left");
    EXPECT(!requests_other(requests, &web, "2", NULL), "there is no other");
    requests_drop(requests, "team", "a");
    add(requests, &(struct row)ROW("a", "3", LATE, "9"));
    requests_end(requests, "1");
    expect_newest(requests, "3", "another one of its name");
}

static void a_hold_is_of_one_generation(void)
{
    static const struct {
        enum release_operation operation;
        const char *uid;
        int64_t generation;
        bool is_in_force;
        const char *reason;
    } rows[] = {
        {RELEASE_APPLY, "1", 4, false, "RolledBack"},
        {RELEASE_ROLLBACK, "1", 4, true, "RolledBack"},
        {RELEASE_DESTROY, "1", 4, true, "Destroyed"},
        {RELEASE_DESTROY, "1", 3, false, "Destroyed"},
        {RELEASE_DESTROY, "1", 5, false, "Destroyed"},
        {RELEASE_DESTROY, "2", 4, false, "Destroyed"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct hold hold = {.operation = rows[i].operation,
                            .spec_uid = str_new(rows[i].uid),
                            .generation = rows[i].generation};

        EXPECT_INT(hold_is_in_force(&hold, "1", 4), rows[i].is_in_force, rows[i].reason);
        EXPECT_STR(hold_reason(&hold), rows[i].reason, "reason");
        hold_done(&hold);
    }
}

SUITE(requests, TEST(finds_the_newest), TEST(drops_by_name),
      TEST(one_that_ended_does_not_come_back), TEST(a_hold_is_of_one_generation))
