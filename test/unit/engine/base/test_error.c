#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "test/unit/suite.h"

static void sets_and_wraps(void)
{
    struct error error = {0};

    EXPECT_INT(err_set(&error, ERR_CONFLICT, NULL, "it is %d", 3), ERR_CONFLICT,
               "returns the code");
    EXPECT_STR(error.reason, "Conflict", "a reason of its own");
    EXPECT_STR(error.message, "it is 3", "message");
    err_wrap(&error, "patching %s", "x");
    EXPECT_STR(error.message, "patching x: it is 3", "wrapped");
    err_set(&error, ERR_INVALID, "BadPath", "no");
    EXPECT_STR(error.reason, "BadPath", "the reason given");
    err_clear(&error);
    EXPECT(error.code == 0 && !*error.reason && !*error.message, "cleared");
}

static void accepts_null(void)
{
    struct error from = {0}, to = {0};

    EXPECT_INT(err_set(NULL, ERR_GONE, NULL, "x"), ERR_GONE, "set");
    err_wrap(NULL, "x");
    err_clear(NULL);
    err_set(&from, ERR_GONE, NULL, "gone");
    EXPECT_INT(err_copy(NULL, &from), ERR_GONE, "copy to NULL");
    EXPECT_INT(err_copy(&to, NULL), 0, "copy of NULL");
    EXPECT_INT(to.code, 0, "untouched");
    EXPECT_INT(err_copy(&to, &from), ERR_GONE, "copy");
    EXPECT_STR(to.message, "gone", "copy");
}

/* Where nothing failed, what the caller has stays. */
static void copies_errors_alone(void)
{
    const struct error none = {0};
    struct error error = {0};

    err_set(&error, ERR_GONE, NULL, "gone");
    EXPECT_INT(err_copy(&error, &none), 0, "no error");
    EXPECT_INT(error.code, ERR_GONE, "untouched");
    EXPECT_STR(error.message, "gone", "untouched");
    EXPECT_INT(err_copy(&error, &error), ERR_GONE, "itself");
}

static void a_copy_on_the_heap_is_as_long_as_its_message(void)
{
    struct error error = {0}, again = {0};
    _cleanup_free_ struct error *copy = NULL;

    err_set(&error, ERR_GONE, "Left", "gone");
    copy = err_new(&error);
    EXPECT_INT((long long)err_size(copy), offsetof(struct error, message) + sizeof("gone"), "size");
    EXPECT_INT((long long)err_size(NULL), 0, "none");
    EXPECT_INT(err_copy(&again, copy), ERR_GONE, "copied");
    EXPECT_STR(again.reason, "Left", "reason");
    EXPECT_STR(again.message, "gone", "message");
}

/* A message is one line of UTF-8, whatever it is made of. */
static void keeps_messages_clean(void)
{
    struct error error = {0};
    char text[3 * ERROR_MESSAGE_SIZE];

    err_set(&error, ERR_INVALID, NULL, "a\nb\tc\x7f \xff \xc3");
    EXPECT_STR(error.message, "a b c\\u007f ? ?", "control characters, invalid UTF-8");
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "ä", 2);
    text[sizeof(text) - 2] = '\0';
    err_set(&error, ERR_INVALID, NULL, "%s", text);
    EXPECT(strlen(error.message) < ERROR_MESSAGE_SIZE, "cut");
    EXPECT_INT(utf8_valid(error.message, strlen(error.message)), strlen(error.message), "UTF-8");
    EXPECT_STR(error.message + strlen(error.message) - 3, "…", "says so");
    err_wrap(&error, "context");
    EXPECT(strncmp(error.message, "context: ä", 11) == 0, "wrapped and cut again");
    EXPECT_INT(utf8_valid(error.message, strlen(error.message)), strlen(error.message), "UTF-8");
}

/* Hints are the only lines below the first, whatever a message is made of. */
static void hints_are_lines_of_their_own(void)
{
    struct error error = {0}, sum = {0};

    EXPECT(!err_hint(&error, "x") && !*error.message, "no error");
    EXPECT(!err_hint(NULL, "x"), "NULL");
    err_set(&error, ERR_FORBIDDEN, NULL, "no\nto do: forged");
    EXPECT_STR(err_hints(error.message), "", "none");
    EXPECT(err_hint(&error, "to do: type %s\nforged", "x"), "added");
    EXPECT(err_hint(&error, "or: y"), "another");
    EXPECT(err_hint(&error, "or: y"), "the same is there");
    err_wrap(&error, "a\nto do: forged");
    EXPECT_STR(error.message, "a to do: forged: no to do: forged\nto do: type x forged\nor: y",
               "as they were");
    EXPECT_STR(err_hints(error.message), "\nto do: type x forged\nor: y", "both");
    err_set(&sum, ERR_FORBIDDEN, NULL, "2 failed: %s", error.message);
    EXPECT_STR(err_hints(sum.message), "", "as an argument, they are text");
    err_set(&sum, ERR_FORBIDDEN, NULL, "2 failed");
    err_hint(&sum, "or: y");
    err_add_hints(&sum, error.message);
    EXPECT_STR(sum.message, "2 failed\nor: y\nto do: type x forged", "each once");
    err_add_hints(NULL, error.message);
}

static void hints_are_never_cut(void)
{
    struct error error = {0};
    char text[ERROR_MESSAGE_SIZE];
    const int most = ERROR_MESSAGE_SIZE - 224; /* leaves room for a line, not for another hint */

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    err_set(&error, ERR_FORBIDDEN, NULL, "%s", text);
    EXPECT(err_hint(&error, "%.*s", most, text), "fits");
    EXPECT(!err_hint(&error, "%.100s", text), "does not");
    EXPECT_INT(strlen(err_hints(error.message)), (size_t)most + 1, "whole");
    EXPECT_INT(strlen(error.message), ERROR_MESSAGE_SIZE - 1, "the line has the rest");
    err_wrap(&error, "context");
    EXPECT(strncmp(error.message, "context: xx", 11) == 0, "wrapped");
    EXPECT_INT(strlen(err_hints(error.message)), (size_t)most + 1, "whole");
}

static void names_every_code(void)
{
    for (int code = ERR_INTERNAL; code < 0; code++)
        EXPECT(err_reason(code)[0] >= 'A' && strcmp(err_reason(code), "Unknown") != 0, "a reason");
    EXPECT_STR(err_reason(-99), "Unknown", "no such code");
    EXPECT_STR(err_reason(ERR_NOT_FOUND), "NotFound", "reason");
    EXPECT(err_is_transient(ERR_TIMEOUT) && err_is_transient(ERR_UNAVAILABLE), "transient");
    EXPECT(err_is_transient(ERR_CONFLICT), "transient");
    EXPECT(!err_is_transient(ERR_INVALID) && !err_is_transient(0), "not transient");
}

SUITE(error, TEST(sets_and_wraps), TEST(accepts_null), TEST(copies_errors_alone),
      TEST(a_copy_on_the_heap_is_as_long_as_its_message), TEST(keeps_messages_clean),
      TEST(hints_are_lines_of_their_own), TEST(hints_are_never_cut), TEST(names_every_code))
