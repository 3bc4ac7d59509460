#include "runtimes/terraform/import.h"
#include "test/unit/suite.h"

static const struct value *with_id(const struct value *id)
{
    return value_pack("{s:s, s:v}", "provider", "hashicorp/random", IMPORT_ID, id);
}

/* The id counts for what is wanted, and neither recorded nor replaced. */
static void it_counts_until_there_is_a_record(void)
{
    const struct record record = {.id = "a"};
    _cleanup_value_ const struct value *id = value_pack("s", "x"), *nothing = value_pack("n");
    _cleanup_value_ const struct value *extensions = with_id(id), *null = with_id(nothing),
                                       *attributes = value_pack("{}");
    const struct {
        const char *note;
        struct runtime_target target;
        const char *expected;
    } rows[] = {
        {"new", {.attributes = attributes, .extensions = extensions}, "x"},
        {"recorded", {.attributes = attributes, .extensions = extensions, .prior = &record}, NULL},
        {"a replacement",
         {.attributes = attributes, .extensions = extensions, .part = TARGET_NEW},
         NULL},
        {"to be deleted", {.extensions = extensions}, NULL},
        {"null", {.attributes = attributes, .extensions = null}, NULL},
        {"none", {.attributes = attributes}, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_STR(value_string(import_id(&rows[i].target)), rows[i].expected, rows[i].note);
}

static void it_is_not_recorded(void)
{
    _cleanup_value_ const struct value *id = value_pack("s", "x"), *extensions = with_id(id);
    _cleanup_value_ const struct value *stripped = import_strip(extensions),
                                       *again = import_strip(stripped), *none = import_strip(NULL);

    EXPECT(value_count(stripped) == 1 && !value_get(stripped, IMPORT_ID), "without it");
    EXPECT(value_equal(again, stripped), "once is enough");
    EXPECT(!none, "nothing stays nothing");
}

/* The id may be a password: it is hidden however it came to us. */
static void messages_do_not_have_it(void)
{
    _cleanup_value_ const struct value *id = value_pack("s", "correct-horse-battery");
    struct error error = {0};

    err_set(&error, ERR_INVALID, "ProviderError", "cannot read \"correct-horse-battery\"");
    import_redact(id, &error);
    EXPECT(!strstr(error.message, "horse") && strstr(error.message, "cannot read"), error.message);
    import_redact(NULL, &error);
}

SUITE(terraform_import, TEST(it_counts_until_there_is_a_record), TEST(it_is_not_recorded),
      TEST(messages_do_not_have_it))
