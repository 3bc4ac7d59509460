/* What is drift: events, answers and operations in any order. And the table. */
#include "runtimes/kubernetes/follow/tracked.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

/*
 * A script's words:
 *   s5.20  the watch shows print 5 at version 20 (s1: it is gone)    h      an operation reads
 *   w      a write of ours is sent      a6.21  is answered           l      its answer is lost
 *   S5     the operation ends, and State has print 5                 D1     absence is no drift
 *   t3     its annotations say treatment 3          T3     so does an answer of ours
 *   !      drift                        =      none
 */
static const struct {
    const char *note, *script;
} rows[] = {
    {"nothing is known yet", "= h S5 ="},
    {"the first list shows it as it is recorded", "h S5 s5.10 ="},
    {"the first list shows another", "h S5 s6.10 !"},
    {"it was listed while the operation read", "h s5.10 S5 ="},
    {"others change it", "h s5.10 S5 s6.11 !"},
    {"others write its status: the same print", "h s5.10 S5 s5.11 s5.12 ="},
    {"others change it, and back", "h s5.10 S5 s6.11 ! s5.12 ="},
    {"it is deleted", "h s5.10 S5 s1.11 !"},
    {"our write: the answer first", "h s5.10 w a6.11 = s6.11 S6 ="},
    {"our write: the event first", "h s5.10 w s6.11 = a6.11 = S6 ="},
    {"our write: the event after the operation", "h s5.10 w a6.11 S6 = s6.11 ="},
    {"an event from before our write comes late", "h s5.10 w a6.12 S6 s7.11 = s6.12 ="},
    {"others change it after our write, before its answer", "h s5.10 w s6.11 s7.12 a6.11 S6 !"},
    {"others change it right after our write", "h s5.10 w a6.11 s6.11 s7.12 S6 !"},
    {"drift that the operation read and corrected", "h s5.10 S5 s7.11 ! h w a5.12 s5.12 S5 ="},
    {"drift that the operation read and left", "h s5.10 S5 s7.11 ! h S5 = s7.12 ="},
    {"drift that was left, and is another now", "h s5.10 S5 s7.11 ! h S5 = s8.12 !"},
    {"drift that was left, and goes", "h s5.10 S5 s7.11 ! h S5 = s5.12 ! h S5 ="},
    {"drift while the operation goes on, not read by it", "h s5.10 S5 h s7.11 S5 !"},
    {"a create of ours", "h w a5.9 S5 = s5.9 ="},
    {"a create of ours, whose event comes first", "h w s5.9 = a5.9 S5 ="},
    {"its answer is lost, and it came to be", "h w s5.9 l S5 ="},
    {"its answer is lost, and it did not", "h s5.9 w l S5 ="},
    {"a late answer, after the operation", "h s5.9 w S5 = s6.10 = a6.10 ="},
    {"a late answer, and others meanwhile", "h s5.9 w S5 = s6.10 s7.11 = a6.10 !"},
    {"versions that are no numbers", "h s5.0 w a6.0 s6.0 S6 = s7.0 !"},
    {"a Job that has removed itself", "h s5.9 S5 h s1.10 D5 ="},
    {"the same, of what must be there", "h s5.9 S5 h s1.10 S5 !"},
    {"an etcd that was set back: lower versions", "h s5.90 w a6.91 s6.91 S6 s5.20 = h S6 ="},
    {"a person has it treated in another way", "h s5.10 t3 S5 = s5.11 t3 = s5.12 t4 ! h S5 ="},
    {"we do, the event first", "h s5.10 t3 S5 h w s6.11 t4 = a6.11 T4 = S6 ="},
    {"we do, the answer first", "h s5.10 t3 S5 h w a6.11 T4 = s6.11 t4 = S6 ="},
};

static unsigned long number(const char **at)
{
    char *end;
    unsigned long value = strtoul(*at, &end, 10);

    *at = *end == '.' ? end + 1 : end;
    return value;
}

static void run(const char *note, const char *script)
{
    struct tracked it = {0};

    for (const char *at = script; *at;) {
        char word = *at++;
        uint64_t print = strchr("saSDtT", word) ? number(&at) : 0;
        uint64_t version = strchr("sa", word) ? number(&at) : 0;
        _cleanup_free_ char *where =
            str_printf("%s: \"%s\" at %zu", note, script, (size_t)(at - script));

        switch (word) {
        case 's':
            tracked_see(&it, print, version);
            break;
        case 'h':
            tracked_hold(&it);
            break;
        case 'w':
            it.n_in_flight++;
            break;
        case 'a':
        case 'l':
            it.n_in_flight--;
            tracked_answer(&it, print, version);
            break;
        case 't':
            tracked_see_treatment(&it, print);
            break;
        case 'T':
            tracked_answer_treatment(&it, print);
            break;
        case 'S':
        case 'D':
            tracked_settle(&it, print, word == 'D');
            break;
        case '!':
        case '=':
            EXPECT_INT(tracked_has_drifted(&it), word == '!', where);
            break;
        default:
            break;
        }
    }
}

static void tells_drift_from_our_own_writes(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        run(rows[i].note, rows[i].script);
}

/* ---- Fingerprints ---- */

#define OURS(fields)                                                               \
    "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"12\",\"managedFields\":[{" \
    "\"manager\":\"m\",\"operation\":\"Apply\",\"fieldsV1\":" fields "},"          \
    "{\"manager\":\"status\",\"operation\":\"Update\",\"subresource\":\"status\"," \
    "\"fieldsV1\":{\"f:status\":{}}}]}}"

static uint64_t print_of(const char *text)
{
    const struct value *object = NULL;
    uint64_t print;

    json_read(text, strlen(text), &object, NULL);
    print = tracked_print_of(object, "m");
    EXPECT(print > TRACKED_ABSENT, "a print is neither unknown nor absent");
    value_unref(object);
    return print;
}

static void a_print_is_of_our_fields(void)
{
    uint64_t ours = print_of(OURS("{\"f:data\":{\"f:a\":{}}}"));

    EXPECT(ours == print_of(OURS("{\"f:data\": {\"f:a\": {}}}")), "the same, written otherwise");
    EXPECT(ours != print_of(OURS("{\"f:data\":{}}")), "a field less");
    EXPECT(ours != print_of("{\"metadata\":{\"uid\":\"u\"}}"), "no managers");
    EXPECT(tracked_print("u", "d", false) != tracked_print("v", "d", false), "another object");
    EXPECT(tracked_print("u", "d", false) != tracked_print("u", "d", true), "it is being deleted");
    EXPECT(tracked_print("u", NULL, false) == tracked_print("u", "", false), "without a digest");
}

static void versions_are_read(void)
{
    static const struct {
        const char *text;
        uint64_t version;
    } table[] = {{"12", 12}, {"", 0}, {"x", 0}, {"1x", 0}, {"-1", 0}, {"99999999999999999999", 0}};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *object =
            value_pack("{s:{s:s}}", "metadata", "resourceVersion", table[i].text);

        EXPECT_INT((long long)tracked_version(object), (long long)table[i].version, table[i].text);
    }
}

/* ---- The table ---- */

#define MANY 5000

static void the_table_finds_what_was_put(void)
{
    struct tracked_table table = {0};
    size_t count = 0;

    for (unsigned i = 0; i < MANY; i++) {
        struct tracked *tracked = NEW(struct tracked);
        _cleanup_free_ char *name = str_printf("item-%u", i);

        tracked->name = tracked_name(name, 42);
        tracked_table_put(&table, tracked);
        tracked = NEW(struct tracked); /* of another Spec */
        tracked->name = tracked_name(name, 42);
        tracked_table_put(&table, tracked);
    }
    for (unsigned i = 0; i < MANY; i++) {
        _cleanup_free_ char *name = str_printf("item-%u", i);
        uint64_t hash = tracked_name(name, 42);
        struct tracked *first = tracked_table_find(&table, hash, NULL);

        EXPECT(first && tracked_table_find(&table, hash, first), name);
        if (i % 2 && first) {
            tracked_table_remove(&table, first);
            free(first);
            first = tracked_table_find(&table, hash, NULL);
            EXPECT(first && !tracked_table_find(&table, hash, first), name);
        }
    }
    EXPECT(!tracked_table_find(&table, tracked_name("none", 42), NULL), "none of that name");
    for (struct tracked *each = NULL; (each = tracked_table_next(&table, each));)
        count++;
    EXPECT_INT((long long)count, MANY + MANY / 2, "all are walked");
    EXPECT_INT((long long)table.count, MANY + MANY / 2, "and counted");
    EXPECT(sizeof(struct tracked) <= 96, "an object takes that much");
    tracked_table_done(&table);
}

SUITE(tracked, TEST(tells_drift_from_our_own_writes), TEST(a_print_is_of_our_fields),
      TEST(versions_are_read), TEST(the_table_finds_what_was_put))
