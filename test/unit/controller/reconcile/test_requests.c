/* Which of the Releases by which people ask for something is the newest. */
#include "controller/reconcile/requests.h"

#include "controller/reconcile/hold.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

#define EARLY "2026-01-02T03:04:05Z"
#define LATE  "2026-01-02T03:04:06Z"

/* Of Spec "web", unless `spec` says another one. */
struct row {
    const char *release, *uid, *created, *spec, *namespace_name;
};

static void add(struct requests *requests, const struct row *row)
{
    _cleanup_(request_done) struct request request = {.release = str_new(row->release),
                                                      .uid = str_new(row->uid),
                                                      .created = str_new(row->created),
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
        {"one", {{"a", "1", EARLY, 0, 0}}, "1", NULL},
        {"by time", {{"a", "1", LATE, 0, 0}, {"b", "2", EARLY, 0, 0}}, "1", "2"},
        {"the later to come, of one second",
         {{"b", "1", EARLY, 0, 0}, {"a", "2", EARLY, 0, 0}},
         "2",
         "1"},
        {"the same again",
         {{"a", "1", EARLY, 0, 0}, {"b", "2", EARLY, 0, 0}, {"a", "1", EARLY, 0, 0}},
         "2",
         "1"},
        {"made anew under its name", {{"a", "1", EARLY, 0, 0}, {"a", "2", LATE, 0, 0}}, "2", NULL},
        {"of another Spec", {{"a", "1", EARLY, 0, 0}, {"b", "2", LATE, "cache", 0}}, "1", NULL},
        {"of another namespace", {{"a", "1", LATE, 0, "other"}}, NULL, NULL},
        {"of the same name elsewhere",
         {{"a", "1", EARLY, 0, 0}, {"a", "2", LATE, 0, "other"}},
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

    add(requests, &(struct row){"a", "1", EARLY, 0, 0});
    add(requests, &(struct row){"b", "2", LATE, 0, 0});
    add(requests, &(struct row){"b", "3", LATE, 0, "other"});
    requests_drop(requests, "team", "b");
    expect_newest(requests, "1", "the one that is left");
    EXPECT(requests_find(requests, "3", &found) && found.to_revision == 3, "elsewhere");
    EXPECT(!requests_find(requests, "2", NULL), "dropped");
    requests_drop(requests, "team", "a");
    expect_newest(requests, NULL, "none is left");
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

SUITE(requests, TEST(finds_the_newest), TEST(drops_by_name), TEST(a_hold_is_of_one_generation))
