#include "runtimes/terraform/takeover.h"

#include "runtimes/terraform/import.h"
#include "test/unit/suite.h"

/* As an import id does (test_import.c), and only without one. */
static void it_counts_until_there_is_a_record(void)
{
    const struct record record = {.id = "a"};
    _cleanup_value_ const struct value *existing = value_pack("{s:{s:s}}", "a", "address", "x_y.a");
    _cleanup_value_ const struct value *id = value_pack("{s:s}", IMPORT_ID, "x"),
                                       *attributes = value_pack("{}");
    const struct {
        const char *note;
        struct runtime_target target;
        bool counts, is_known;
    } rows[] = {
        {"new", {.id = "a", .attributes = attributes}, true, true},
        {"not in the file", {.id = "b", .attributes = attributes}, true, false},
        {"recorded", {.id = "a", .attributes = attributes, .prior = &record}, false, false},
        {"a replacement", {.id = "a", .attributes = attributes, .part = TARGET_NEW}, false, false},
        {"to be deleted", {.id = "a"}, false, false},
        {"imported", {.id = "a", .attributes = attributes, .extensions = id}, false, false},
    };
    struct runtime_session known = {.existing = existing}, unread = {0}, none = {0};

    err_set(&unread.existing_error, ERR_FORBIDDEN, "AccessDenied", "no right");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *found = NULL;
        struct error error = {0};

        EXPECT_INT(takeover_find(&known, &rows[i].target, &found, &error), 0, rows[i].note);
        EXPECT_INT(found != NULL, rows[i].is_known, rows[i].note);
        EXPECT_INT(takeover_find(&unread, &rows[i].target, &found, &error),
                   rows[i].counts ? ERR_FORBIDDEN : 0, rows[i].note);
        EXPECT_INT(takeover_find(&none, &rows[i].target, &found, NULL), 0, rows[i].note);
        EXPECT(!found, rows[i].note);
    }
}

static void what_the_file_calls_sensitive_is_marked(void)
{
    _cleanup_value_ const struct value *found =
        value_pack("{s:[s, s]}", "sensitive", "/b", "/gone");
    _cleanup_value_ const struct value *object = value_pack("{s:s, s:[s]}", "a", "x", "b", "y");
    _cleanup_value_ const struct value *marked = takeover_mark(found, object);

    EXPECT(value_equal(marked, object), "the same");
    EXPECT(!value_is_sensitive(value_get(marked, "a")), "not this");
    EXPECT(value_is_sensitive(value_get(marked, "b")), "this");
    EXPECT(!takeover_mark(found, NULL), "nothing stays nothing");
}

SUITE(terraform_takeover, TEST(it_counts_until_there_is_a_record),
      TEST(what_the_file_calls_sensitive_is_marked))
