#include "engine/base/str.h"
#include "test/unit/engine/state/records.h"
#include "test/unit/suite.h"

static void a_copy_is_its_own(void)
{
    char id[] = "v1:Secret:a:s", type[] = "Kubernetes";
    _cleanup_(record_unref_p) const struct record *record =
        record_new(&(struct record){.id = id, .type = type});

    id[0] = type[0] = 'x';
    EXPECT_STR(record->id, "v1:Secret:a:s", "id");
    EXPECT_STR(record->type, "Kubernetes", "type");
    EXPECT(!record->deposed && !record->uid && !record->attributes, "what is not set");
}

static void references_are_counted(void)
{
    const struct record *record = full_record("a"), *other = record_ref(record);

    record_unref(record);
    EXPECT_STR(other->id, "a", "alive");
    record_unref(other);
    record_unref(NULL);
    EXPECT(!record_ref(NULL), "none");
}

static void memory_is_secret(void)
{
    _cleanup_(record_unref_p) const struct record *record = full_record("a");

    EXPECT(value_is_sensitive(record->memory), "as a whole");
    EXPECT(value_is_sensitive(value_get(record->memory, "private")), "and inside");
}

/* Every field counts. */
static void tells_records_apart(void)
{
    _cleanup_(record_unref_p) const struct record *full = full_record("a"),
                                                  *again = full_record("a");
    _cleanup_value_ const struct value *other = json("{\"other\":1}"), *open = NULL;
    struct record rows[19];

    EXPECT(record_equal(full, again), "the same");
    EXPECT(record_equal(NULL, NULL) && !record_equal(full, NULL), "none");
    /* The same content, nothing of it secret. */
    open = json("{\"kubeConfig\":\"" SECRET "\"}");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        rows[i] = *full;
    rows[0].status = RECORD_APPLIED;
    rows[1].id = "b";
    rows[2].type = "Kubernetes";
    rows[3].deposed = NULL;
    rows[4].attributes = other;
    rows[5].extensions = open;
    rows[6].dependencies = NULL;
    rows[7].result = other;
    rows[8].memory = NULL;
    rows[9].uid = "u-2";
    rows[10].fields_digest = NULL;
    rows[11].revision = 1;
    rows[12].action = PLAN_NONE;
    rows[13].call.id = NULL;
    rows[14].call.term = 8;
    rows[15].call.until = 0;
    rows[16].memory = other;
    rows[17].is_done = false;
    rows[18].is_only_read = false;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(record_unref_p) const struct record *record = record_new(&rows[i]);
        _cleanup_free_ char *note = str_printf("row %zu", i);

        EXPECT(!record_equal(full, record), note);
    }
}

SUITE(record, TEST(a_copy_is_its_own), TEST(references_are_counted), TEST(memory_is_secret),
      TEST(tells_records_apart))
