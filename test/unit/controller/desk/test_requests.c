/* Which of the Releases by which people ask for something is the newest. */
#include "controller/desk/desk.h"
#include "controller/desk/requests.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

#define EARLY "2026-01-02T03:04:05Z"
#define LATE  "2026-01-02T03:04:06Z"

static const struct spec_key web = {"team", "web"}, elsewhere = {"other", "web"};
static const struct desk_config config; /* nothing is put into a queue */

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

static void add(struct desk *desk, const struct row *row)
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

    desk_add_request(desk, &spec, &request);
}

static void expect_newest(struct desk *desk, const char *uid, const char *note)
{
    _cleanup_(request_done) struct request newest = {0};

    EXPECT(desk_newest_request(desk, &web, NULL, &newest) == (uid != NULL), note);
    EXPECT_STR(newest.uid, uid, note);
}

static void drop(struct desk *desk, const char *release)
{
    _cleanup_free_ char *spec =
        desk_drop_request(desk, &(struct spec_key){web.namespace_name, release});

    EXPECT_STR(spec, web.name, "it was of that Spec");
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

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        _cleanup_(desk_free_p) struct desk *desk = desk_new(&config);
        _cleanup_(request_done) struct request other = {0};

        for (size_t r = 0; r < ARRAY_SIZE(tables[i].rows) && tables[i].rows[r].release; r++)
            add(desk, &tables[i].rows[r]);
        expect_newest(desk, tables[i].newest, tables[i].note);
        EXPECT(desk_newest_request(desk, &web, tables[i].newest, &other) ==
                   (tables[i].other != NULL),
               tables[i].note);
        EXPECT_STR(other.uid, tables[i].other, tables[i].note);
    }
}

static void drops_by_name(void)
{
    _cleanup_(desk_free_p) struct desk *desk = desk_new(&config);
    _cleanup_(request_done) struct request found = {0};

    add(desk, &(struct row)ROW("a", "1", EARLY, "7"));
    add(desk, &(struct row)ROW("b", "2", LATE, "8"));
    add(desk, &(struct row)ROW("b", "3", LATE, "9", .namespace_name = "other"));
    drop(desk, "b");
    expect_newest(desk, "1", "the one that is left");
    EXPECT(desk_find_request(desk, &elsewhere, "3", &found) && found.to_revision == 3, "elsewhere");
    EXPECT(!desk_find_request(desk, &web, "2", NULL), "dropped");
    drop(desk, "a");
    expect_newest(desk, NULL, "none is left");
}

/* Its Release was read before it ended, and is added after that. */
static void one_that_ended_does_not_come_back(void)
{
    static const struct row undo = ROW("a", "1", LATE, "8"), destroy = ROW("b", "2", EARLY, "7");
    _cleanup_(desk_free_p) struct desk *desk = desk_new(&config);
    _cleanup_(request_done) struct request found = {0};

    add(desk, &undo);
    add(desk, &destroy);
    desk_end_request(desk, &web, "1");
    add(desk, &undo);
    expect_newest(desk, "2", "the one that is left");
    EXPECT(!desk_newest_request(desk, &web, "2", NULL), "there is no other");
    drop(desk, "a");
    add(desk, &(struct row)ROW("a", "3", LATE, "9"));
    desk_end_request(desk, &web, "1");
    expect_newest(desk, "3", "another one of its name");
}

SUITE(desk, TEST(finds_the_newest), TEST(drops_by_name), TEST(one_that_ended_does_not_come_back))
