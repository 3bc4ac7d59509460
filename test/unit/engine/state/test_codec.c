#include "engine/state/codec.h"

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/engine/state/records.h"
#include "test/unit/suite.h"

static struct state *sample(void)
{
    _cleanup_(record_unref_p) const struct record *plain = record_of("a", 1),
                                                  *full = full_record("f"),
                                                  *mark = mark_of("m", "call-9");
    struct state *state = empty_state();

    state_put(state, plain);
    state_put(state, full);
    state_put(state, mark);
    return state;
}

static void round_trip(struct state *state, const char *note)
{
    _cleanup_(state_free_p) struct state *back = NULL;
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    struct error error = {0};

    EXPECT_INT(state_encode(state, &document, &error), 0, error.message);
    EXPECT_INT(state_decode(&document, &back, &error), 0, error.message);
    if (back)
        expect_same_state(state, back, note);
}

static void comes_back_as_it_was(void)
{
    _cleanup_(state_free_p) struct state *state = sample(), *empty = empty_state();
    struct state_head head = *state_head(state);
    _cleanup_value_ const struct value *policy = NULL, *open = json("{\"prune\":true}");

    round_trip(state, "of every kind");
    round_trip(empty, "empty");
    head.spec_uid = NULL;
    head.policy = policy = value_sensitive(open);
    state_set_head(state, &head);
    round_trip(state, "a policy, no uid");
    head = *state_head(state);
    head.progressed_at = 1790000000000;
    head.operation_uid = "another";
    head.place = "namespace:kube-system=1";
    state_set_head(state, &head);
    round_trip(state, "under way");
}

/* The bits are there again, and where they were. */
static void what_is_secret_stays_secret(void)
{
    _cleanup_(state_free_p) struct state *state = sample(), *back = NULL;
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    const struct record *full;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(state_decode(&document, &back, NULL), 0);
    full = state_find(back, "f", "d1");
    EXPECT(value_is_sensitive(value_path(full->attributes, "data", "p", NULL)), "data.p");
    EXPECT(!value_is_sensitive(value_get(full->attributes, "open")), "open");
    EXPECT(value_is_sensitive(value_get(full->extensions, "kubeConfig")), "extensions");
    EXPECT(value_is_sensitive(value_get(full->result, "password")), "result");
    EXPECT(value_is_sensitive(full->memory), "memory");
    EXPECT(!value_has_sensitive(state_find(back, "a", NULL)->attributes), "of another");
}

static void expect_nowhere(const struct buf *part, const char *note)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;
    char digest[HASH_HEX_SIZE];

    CU_ASSERT_EQUAL_FATAL(value_expand(part->data, part->length, &value, NULL), 0);
    text = json_to_str(value);
    EXPECT(!strstr(text, SECRET) && !strstr(text, SECRET_BASE64), note);
    EXPECT(!memmem(part->data, part->length, SECRET, strlen(SECRET)), note);
    hash_hex(SECRET, strlen(SECRET), digest);
    EXPECT(!strstr(text, digest), "nor a digest without a key");
}

static void no_secret_is_in_the_open_part(void)
{
    _cleanup_(state_free_p) struct state *state = sample();
    _cleanup_(document_done) struct document document = DOCUMENT_INIT, outcome = DOCUMENT_INIT;
    _cleanup_value_ const struct value *secret = NULL;
    _cleanup_free_ char *text = NULL;
    struct changes changes = CHANGES_INIT;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    expect_nowhere(&document.open, "State");
    CU_ASSERT_EQUAL_FATAL(value_expand(document.secret.data, document.secret.length, &secret, NULL),
                          0);
    text = json_to_str(secret);
    EXPECT(strstr(text, SECRET) && strstr(text, SECRET_BASE64), "they are in the secret one");
    changes_add(&changes, &(struct ledger_change){.put = state_find(state, "f", "d1")});
    CU_ASSERT_EQUAL_FATAL(outcome_encode("call-1", &changes, &outcome, NULL), 0);
    expect_nowhere(&outcome.open, "an outcome document");
    changes_done(&changes);
}

static void nothing_secret_needs_no_secret_part(void)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    _cleanup_(record_unref_p) const struct record *plain = record_of("a", 1);
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;

    state_put(state, plain);
    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    EXPECT_INT((long long)document.secret.length, 0, "empty");
}

static void refuses_what_cannot_be_stored(void)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    _cleanup_value_ const struct value *unknown = value_pack("{s:u}", "ip");
    _cleanup_(record_unref_p) const struct record *record =
        record_new(&(struct record){.id = "a", .type = "t", .attributes = unknown});
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;

    state_put(state, record);
    EXPECT_INT(state_encode(state, &document, NULL), ERR_INTERNAL, "a value that is not known");
}

/* ---- Damage ---- */

/* Without its secrets a State would apply nulls over what is in the world. */
static void parts_that_do_not_fit_are_damage(void)
{
    static const char *const parts[] = {
        "{}",
        "[]",
        "{\"serial\":5}",
        "{\"serial\":5,\"values\":{}}",
        "{\"serial\":5,\"values\":[]}",
        "{\"serial\":5,\"values\":{\"/resources/0/attributes/data\":1}}",
        "{\"serial\":4,\"values\":{\"/resources/1/attributes/data\":1}}",
    };
    _cleanup_(state_free_p) struct state *state = sample(), *plain = empty_state();
    _cleanup_(document_done) struct document document = DOCUMENT_INIT, other = DOCUMENT_INIT,
                                             mixed = DOCUMENT_INIT, without = DOCUMENT_INIT;
    struct state *back = NULL;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        _cleanup_value_ const struct value *value = json(parts[i]);
        _cleanup_(document_done) struct document damaged = DOCUMENT_INIT;

        buf_add(&damaged.open, document.open.data, document.open.length);
        value_compress(value, &damaged.secret, NULL);
        EXPECT_INT(state_decode(&damaged, &back, NULL), ERR_CORRUPT, parts[i]);
    }
    buf_add(&without.open, document.open.data, document.open.length);
    EXPECT_INT(state_decode(&without, &back, NULL), ERR_CORRUPT, "no secret part");
    CU_ASSERT_EQUAL_FATAL(state_encode(plain, &other, NULL), 0);
    buf_add(&mixed.open, other.open.data, other.open.length);
    buf_add(&mixed.secret, document.secret.data, document.secret.length);
    EXPECT_INT(state_decode(&mixed, &back, NULL), ERR_CORRUPT, "one too many");
    EXPECT(!back, "nothing comes of it");
}

static void parts_of_two_writes_are_damage(void)
{
    _cleanup_(state_free_p) struct state *state = sample(), *back = NULL;
    _cleanup_(document_done) struct document first = DOCUMENT_INIT, second = DOCUMENT_INIT,
                                             mixed = DOCUMENT_INIT;
    struct state_head head = *state_head(state);

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &first, NULL), 0);
    head.serial++;
    state_set_head(state, &head);
    CU_ASSERT_EQUAL_FATAL(state_encode(state, &second, NULL), 0);
    buf_add(&mixed.open, second.open.data, second.open.length);
    buf_add(&mixed.secret, first.secret.data, first.secret.length);
    EXPECT_INT(state_decode(&mixed, &back, NULL), ERR_CORRUPT, "mixed");
}

static void the_same_state_is_the_same_bytes(void)
{
    _cleanup_(state_free_p) struct state *a = sample(), *b = sample();
    _cleanup_(document_done) struct document x = DOCUMENT_INIT, y = DOCUMENT_INIT;

    CU_ASSERT_EQUAL_FATAL(state_encode(a, &x, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(state_encode(b, &y, NULL), 0);
    EXPECT(x.open.length == y.open.length && !memcmp(x.open.data, y.open.data, x.open.length),
           "open");
    EXPECT(x.secret.length == y.secret.length &&
               !memcmp(x.secret.data, y.secret.data, x.secret.length),
           "secret");
}

/* ---- Journal ---- */

static void add_entry(struct document *document, const struct state_head *before,
                      const struct state_head *head, const struct changes *changes)
{
    struct buf *entry;

    document->entries = realloc(document->entries, (document->n_entries + 1) * sizeof(struct buf));
    entry = &document->entries[document->n_entries++];
    buf_init(entry, 0);
    EXPECT_INT(entry_encode(before, head, changes, entry, NULL), 0, "an entry");
}

/* One change a row, each an entry of its own; after each of them State is read again. */
static void entries_lead_to_the_same_state(void)
{
    _cleanup_(state_free_p) struct state *state = sample();
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    _cleanup_(record_unref_p) const struct record *a = record_of("a", 2), *b = record_of("b", 3),
                                                  *f = full_record("g");
    _cleanup_value_ const struct value *policy = json("{\"prune\":true}");
    const struct {
        struct ledger_change change;
        int64_t revision;
        const char *uid;
        const struct value *policy;
        int64_t progressed_at;
        const char *operation_uid;
    } rows[] = {
        {{.put = a}, 7, "uid-1", NULL, 0, NULL},
        {{.put = b}, 8, "uid-2", policy, 1000, "uid-3"},
        {{.id = "a"}, 8, "uid-2", policy, 1000, "uid-3"},
        {{.put = f}, 8, NULL, NULL, 2000, NULL},
        {{.id = "f", .deposed = "d1"}, 9, NULL, policy, 0, NULL},
        {{.put = a}, 10, "uid-1", NULL, 0, NULL},
    };

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(state_free_p) struct state *back = NULL, *before = state_copy(state);
        struct state_head head = *state_head(state);
        struct changes changes = CHANGES_INIT;

        head.serial++;
        head.revision = rows[i].revision;
        head.spec_uid = rows[i].uid;
        head.policy = rows[i].policy;
        head.progressed_at = rows[i].progressed_at;
        head.operation_uid = rows[i].operation_uid;
        changes_add(&changes, &rows[i].change);
        change_apply(&rows[i].change, state);
        state_set_head(state, &head);
        add_entry(&document, state_head(before), state_head(state), &changes);
        EXPECT_INT(state_decode(&document, &back, NULL), 0, "read");
        expect_same_state(state, back, "the same");
        changes_done(&changes);
    }
}

/* Entries 6, 7, 8 after a snapshot with the serial 5, some of them lost, old, or damaged. */
static void entries_leave_no_gap(void)
{
    static const struct {
        const char *note;
        int64_t serials[4];
        int code;
    } rows[] = {
        {"in order", {6, 7, 8}, 0},
        {"old ones are skipped", {4, 5, 6, 7}, 0},
        {"the first is lost", {7, 8}, ERR_CORRUPT},
        {"one between is lost", {6, 8}, ERR_CORRUPT},
    };
    _cleanup_(state_free_p) struct state *state = sample();
    const struct changes changes = CHANGES_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(document_done) struct document document = DOCUMENT_INIT;
        _cleanup_(state_free_p) struct state *back = NULL;

        CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
        for (size_t k = 0; k < 4 && rows[i].serials[k]; k++) {
            struct state_head head = *state_head(state);

            head.serial = (uint64_t)rows[i].serials[k];
            head.revision = 100 + rows[i].serials[k];
            add_entry(&document, state_head(state), &head, &changes);
        }
        EXPECT_INT(state_decode(&document, &back, NULL), rows[i].code, rows[i].note);
        EXPECT((back != NULL) == (rows[i].code == 0), rows[i].note);
        if (back)
            EXPECT_INT(state_head(back)->revision, 100 + (int64_t)state_head(back)->serial,
                       rows[i].note);
    }
}

static void damaged_entries_are_damage(void)
{
    static const char *const texts[] = {
        "{}",
        "{\"format\":3,\"serial\":6,\"head\":{},\"changes\":[]}",
        "{\"format\":2,\"serial\":6,\"head\":{},\"changes\":[],\"more\":1}",
        "{\"format\":2,\"serial\":6,\"head\":{}}",
        "{\"format\":2,\"serial\":6,\"changes\":[]}",
        "{\"format\":2,\"serial\":6,\"head\":{\"more\":1},\"changes\":[]}",
        "{\"format\":2,\"serial\":6,\"head\":{\"revision\":\"x\"},\"changes\":[]}",
        "{\"format\":2,\"serial\":6,\"head\":{},\"changes\":[{}]}",
        "{\"format\":2,\"serial\":6,\"head\":{},\"changes\":[{\"put\":{}}]}",
        "{\"format\":2,\"serial\":6,\"head\":{},\"changes\":[{\"drop\":{}}]}",
    };
    _cleanup_(state_free_p) struct state *state = sample();

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_(document_done) struct document document = DOCUMENT_INIT;
        _cleanup_value_ const struct value *value = json(texts[i]);
        struct state *back = NULL;
        struct error error = {0};

        CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
        document.entries = calloc(1, sizeof(struct buf));
        document.n_entries = 1;
        buf_init(&document.entries[0], 0);
        value_compress(value, &document.entries[0], NULL);
        EXPECT_INT(state_decode(&document, &back, &error), ERR_CORRUPT, texts[i]);
        EXPECT(strstr(error.message, "entry 0"), error.message);
        EXPECT(!back, texts[i]);
    }
}

static void an_outcome_document_comes_back(void)
{
    _cleanup_(record_unref_p) const struct record *full = full_record("f");
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    struct changes changes = CHANGES_INIT, back = CHANGES_INIT;

    changes_add(&changes, &(struct ledger_change){.put = full});
    changes_add(&changes, &(struct ledger_change){.id = "x", .deposed = "d"});
    CU_ASSERT_EQUAL_FATAL(outcome_encode("c", &changes, &document, NULL), 0);
    EXPECT_INT(outcome_decode(&document, "other", &back, NULL), ERR_CORRUPT, "of another call");
    CU_ASSERT_EQUAL_FATAL(outcome_decode(&document, "c", &back, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(back.count, 2);
    EXPECT(record_equal(back.items[0].put, full), "the record");
    EXPECT_STR(back.items[1].id, "x", "dropped");
    EXPECT_STR(back.items[1].deposed, "d", "dropped");
    changes_done(&changes);
    changes_done(&back);
}

SUITE(codec, TEST(comes_back_as_it_was), TEST(what_is_secret_stays_secret),
      TEST(no_secret_is_in_the_open_part), TEST(nothing_secret_needs_no_secret_part),
      TEST(refuses_what_cannot_be_stored), TEST(parts_that_do_not_fit_are_damage),
      TEST(parts_of_two_writes_are_damage), TEST(the_same_state_is_the_same_bytes),
      TEST(entries_lead_to_the_same_state), TEST(entries_leave_no_gap),
      TEST(damaged_entries_are_damage), TEST(an_outcome_document_comes_back))
