/* What is known of a Spec and of its Releases, and when it is forgotten. */
#include "controller/desk/desk_private.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

static const struct spec_key web = {"team", "web"}, other = {"team", "other"};

struct fixture {
    struct desk *desk;
    struct buf queue; /* keys that were put there since the last look; "+" for Releases */
};

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct fixture *fixture = arg;

    buf_printf(&fixture->queue, "%s%s ", kind == DESK_RELEASE ? "+" : "", key);
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.queue = BUF_INIT};
    fixture->desk = desk_new(&(struct desk_config){.enqueue = enqueue, .arg = fixture});
}

static void end(struct fixture *fixture)
{
    desk_free(fixture->desk);
    buf_done(&fixture->queue);
}

static void expect_queue(struct fixture *fixture, const char *expected, const char *note)
{
    EXPECT_STR(fixture->queue.length ? fixture->queue.data : "", expected, note);
    buf_reset(&fixture->queue);
}

static void expect_entries(struct fixture *fixture, size_t specs, size_t releases, const char *note)
{
    EXPECT_INT(fixture->desk->tables[DESK_SPEC].entries.count, specs, note);
    EXPECT_INT(fixture->desk->tables[DESK_RELEASE].entries.count, releases, note);
}

static struct desk_entry *enter(struct fixture *fixture, enum desk_kind kind, const char *key)
{
    static char nobody;
    struct attempt *attempt = (struct attempt *)&nobody;

    return desk_enter(fixture->desk, kind, key, &attempt);
}

static struct spec_key release(const char *name)
{
    return (struct spec_key){"team", name};
}

/* Each is all that is known: then it is not. */

static void is_listed(struct desk *desk, bool is)
{
    desk_observe(desk, DESK_SPEC, "team/web", &(struct object_version){.uid = is ? "u" : NULL},
                 false);
}

static void is_collected(struct desk *desk, bool is)
{
    desk_set_collected(desk, &web, is);
}

static void has_a_request(struct desk *desk, bool is)
{
    struct request request = {.release = (char[]){"undo"},
                              .uid = (char[]){"1"},
                              .created = (char[]){"2026-01-02T03:04:05Z"},
                              .version = (char[]){"7"}};
    const struct spec_key undo = release("undo");

    if (is)
        desk_add_request(desk, &web, &request);
    else
        free(desk_drop_request(desk, &undo));
}

static void has_a_plan(struct desk *desk, bool is)
{
    const struct document_name name = {DOCUMENT_PLAN, web, "web-1"};

    (is ? desk_note_document : desk_forget_document)(desk, &name);
}

static void has_recorded_specs(struct desk *desk, bool is)
{
    if (is)
        desk_note_recorded(desk, &web, "d");
    else
        desk_forget_spec(desk, &web);
}

static void has_finished_releases(struct desk *desk, bool is)
{
    const struct spec_key look = release("look");

    if (is)
        desk_note_finished(desk, &look, "web", 1000, 1);
    else
        desk_forget_finished(desk, &look);
}

static void has_a_preview(struct desk *desk, bool is)
{
    static struct desk_entry *entry;
    static char nobody;
    struct attempt *attempt = (struct attempt *)&nobody;

    if (is) {
        entry = desk_enter(desk, DESK_RELEASE, "team/look", &attempt);
        EXPECT(desk_reserve_preview(entry, "web"), "there is room");
        return;
    }
    desk_end_try(entry);
    desk_leave(entry);
}

static void nothing_stays_of_what_is_gone(void)
{
    static const struct {
        const char *note;
        void (*set)(struct desk *desk, bool is);
        size_t releases;
    } rows[] = {
        {"listed", is_listed, 0},
        {"its history is collected", is_collected, 0},
        {"a person asks for something", has_a_request, 1},
        {"a Release has a plan", has_a_plan, 1},
        {"Specs are recorded", has_recorded_specs, 0},
        {"a Release has ended", has_finished_releases, 1},
        {"a Preview runs", has_a_preview, 1},
    };
    struct fixture fixture;

    begin(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        rows[i].set(fixture.desk, true);
        expect_entries(&fixture, 1, rows[i].releases, rows[i].note);
        rows[i].set(fixture.desk, false);
        expect_entries(&fixture, 0, 0, rows[i].note);
    }
    desk_request(fixture.desk, DESK_SPEC, &web);
    expect_entries(&fixture, 0, 0, "the queue has it");
    expect_queue(&fixture, "team/web ", "asked for");
    end(&fixture);
}

/* Its operation is gone by then, and so may be all else. */
static void a_call_that_lands_is_known_until_the_next_try(void)
{
    struct operation_config config = {0}, preview = {0};
    struct desk_entry *entry;
    struct fixture fixture;

    begin(&fixture);
    entry = enter(&fixture, DESK_SPEC, "team/web");
    desk_expect_landing(entry, &config);
    desk_leave(entry);
    expect_entries(&fixture, 0, 0, "nothing is known");
    config.on_landed(config.landed_arg, &web);
    expect_queue(&fixture, "team/web ", "landed");
    entry = enter(&fixture, DESK_SPEC, "team/web");
    EXPECT(desk_has_seen_landing(entry), "seen");
    desk_expect_landing(entry, &config);
    EXPECT(!desk_has_seen_landing(entry), "another operation");
    desk_leave(entry);
    entry = enter(&fixture, DESK_RELEASE, "team/look");
    desk_expect_landing(entry, &preview);
    EXPECT(!preview.on_landed, "a Preview changes nothing");
    desk_leave(entry);
    end(&fixture);
}

static void what_ends_is_kept_within_limits(void)
{
    struct fixture fixture;
    const struct spec_key a = release("a"), b = release("b"), c = release("c");

    begin(&fixture);
    EXPECT(desk_note_finished(fixture.desk, &a, "web", 2000, 2), "a");
    EXPECT(desk_note_finished(fixture.desk, &b, "web", 1000, 2), "b");
    EXPECT(desk_note_finished(fixture.desk, &b, "web", 1000, 2), "b again");
    EXPECT(desk_note_finished(fixture.desk, &c, "other", 500, 2), "of another Spec");
    expect_queue(&fixture, "", "as many as may be");
    EXPECT(desk_note_finished(fixture.desk, &c, "web", 3000, 2), "made anew for this one");
    expect_queue(&fixture, "+team/b ", "the oldest is looked at");
    EXPECT(!desk_note_finished(fixture.desk, &b, "web", 1000, 2), "and is to go");
    desk_forget_finished(fixture.desk, &b);
    expect_entries(&fixture, 1, 2, "gone");
    desk_forget_spec(fixture.desk, &web);
    expect_queue(&fixture, "+team/a +team/c ", "its Spec is gone");
    EXPECT(!desk_note_finished(fixture.desk, &c, "web", 3000, 2), "to go");
    expect_entries(&fixture, 0, 2, "until they are");
    end(&fixture);
}

/* Those of others are not looked at. */
static void knows_the_approvals_of_a_spec(void)
{
    const struct document_name names[] = {{DOCUMENT_APPROVAL, web, "web-1"},
                                          {DOCUMENT_APPROVAL, web, "web-2"},
                                          {DOCUMENT_PLAN, web, "web-2"},
                                          {DOCUMENT_APPROVAL, other, "web-2"}};
    const struct spec_key second = release("web-2");
    struct desk_documents found = {0};
    struct fixture fixture;

    begin(&fixture);
    for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++)
        desk_note_document(fixture.desk, &names[i % ARRAY_SIZE(names)]);
    found = desk_approvals_of(fixture.desk, &web);
    EXPECT_INT(found.count, 2, "of the Spec");
    desk_documents_done(&found);
    EXPECT(!desk_documents_of(fixture.desk, &second, &found), "not all are known");
    EXPECT_INT(found.count, 3, "of the Release, whichever Spec it was of");
    desk_documents_done(&found);
    desk_forget_document(fixture.desk, &names[1]);
    found = desk_approvals_of(fixture.desk, &web);
    EXPECT_INT(found.count, 1, "the other");
    EXPECT_STR(found.count ? found.items[0].release : NULL, "web-1", "the other");
    desk_documents_done(&found);
    end(&fixture);
}

SUITE(desk, TEST(nothing_stays_of_what_is_gone),
      TEST(a_call_that_lands_is_known_until_the_next_try), TEST(what_ends_is_kept_within_limits),
      TEST(knows_the_approvals_of_a_spec))
