/* The fields of a head: each that the table has is in States and in entries. */
#include "engine/state/codec.h"
#include "engine/state/state_value.h"
#include "engine/value/json.h"
#include "test/unit/engine/state/records.h"
#include "test/unit/suite.h"

/* Sets the field to a value of its type, of which there are two. A reference. */
static const struct value *set_field(const struct head_field *field, bool is_other,
                                     struct state_head *head)
{
    static const char *const texts[][2] = {
        [HEAD_NUMBER] = {"{\"x\":7}", "{\"x\":0}"},
        [HEAD_TEXT] = {"{\"x\":\"y\"}", "{\"x\":null}"},
        [HEAD_VALUE] = {"{\"x\":{\"y\":1}}", "{\"x\":null}"},
    };
    const struct value *from = json(texts[field->type][is_other]);
    const struct head_field named = {"x", field->type, field->presence, field->offset};

    EXPECT_INT(head_field_read(&named, from, head, NULL), 0, field->name);
    return from;
}

static void expect_field(const struct head_field *field, const struct state_head *head,
                         struct state *state)
{
    _cleanup_value_ const struct value *wanted = head_field_value(field, head);
    _cleanup_value_ const struct value *found = head_field_value(field, state_head(state));

    EXPECT(value_equal(wanted, found), field->name);
}

/* Whatever it was before, in a State and in an entry after it. */
static void each_comes_back(void)
{
    for (size_t i = 0; i < 2 * (size_t)N_HEAD_FIELDS; i++) {
        const struct head_field *field = &head_fields[i / 2];
        _cleanup_(state_free_p) struct state *state = empty_state(), *back = NULL, *next = NULL;
        struct state_head head = *state_head(state), changed;
        _cleanup_value_ const struct value *value = set_field(field, i % 2, &head), *other = NULL;
        const struct changes none = CHANGES_INIT;
        struct document document = DOCUMENT_INIT;

        state_set_head(state, &head);
        head = *state_head(state); /* what it was before is freed */
        EXPECT_INT(state_encode(state, &document, NULL), 0, field->name);
        EXPECT_INT(state_decode(&document, &back, NULL), 0, field->name);
        expect_field(field, &head, back);
        changed = head;
        changed.serial++;
        other = set_field(field, !(i % 2), &changed);
        document.entries = calloc(1, sizeof(struct buf));
        document.n_entries = 1;
        buf_init(document.entries, 0);
        EXPECT_INT(entry_encode(&head, &changed, &none, document.entries, NULL), 0, field->name);
        EXPECT_INT(state_decode(&document, &next, NULL), 0, field->name);
        expect_field(field, &changed, next);
        document_done(&document);
    }
}

static void another_type_is_damage(void)
{
    _cleanup_value_ const struct value *text = json("{\"x\":\"7\"}"), *number = json("{\"x\":7}"),
                                       *null = json("{\"x\":null}"), *none = json("{}");
    struct state_head head = {.revision = 3, .operation_uid = "u"};
    const struct head_field of_number = {"x", HEAD_NUMBER, HEAD_REQUIRED,
                                         offsetof(struct state_head, revision)};
    const struct head_field of_text = {"x", HEAD_TEXT, HEAD_OPTIONAL,
                                       offsetof(struct state_head, operation_uid)};

    EXPECT_INT(head_field_read(&of_number, none, &head, NULL), 0, "absent");
    EXPECT_INT(head_field_read(&of_text, none, &head, NULL), 0, "absent");
    EXPECT_INT(head.revision, 3, "as it was");
    EXPECT_STR(head.operation_uid, "u", "as it was");
    EXPECT_INT(head_field_read(&of_number, text, &head, NULL), ERR_CORRUPT, "a text");
    EXPECT_INT(head_field_read(&of_number, null, &head, NULL), ERR_CORRUPT, "null");
    EXPECT_INT(head_field_read(&of_text, number, &head, NULL), ERR_CORRUPT, "a number");
}

static void a_state_has_what_it_must(void)
{
    _cleanup_(state_free_p) struct state *state = empty_state();
    _cleanup_value_ const struct value *whole = state_to_value(state);

    for (size_t i = 0; i < N_HEAD_FIELDS; i++) {
        const struct head_field *field = &head_fields[i];
        _cleanup_value_ const struct value *less = value_without(whole, field->name);
        _cleanup_(state_free_p) struct state *back = NULL;

        EXPECT_INT(state_from_value(less, &back, NULL),
                   field->presence == HEAD_REQUIRED ? ERR_CORRUPT : 0, field->name);
    }
}

SUITE(head_value, TEST(each_comes_back), TEST(another_type_is_damage),
      TEST(a_state_has_what_it_must))
