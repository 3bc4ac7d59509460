#include "test/unit/engine/state/records.h"

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/suite.h"

const struct value *json(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

const struct record *record_of(const char *id, int n)
{
    _cleanup_value_ const struct value *attributes = value_pack("{s:i}", "n", n);

    return record_new(&(struct record){.status = RECORD_APPLIED,
                                       .id = id,
                                       .type = "Kubernetes",
                                       .attributes = attributes,
                                       .action = PLAN_CREATE});
}

/* The JSON with what the pointers lead to sensitive. */
static const struct value *marked(const char *text, const char *pointers)
{
    _cleanup_value_ const struct value *value = json(text), *list = json(pointers);

    return value_mark_paths(value, list);
}

const struct record *full_record(const char *id)
{
    _cleanup_value_ const struct value *attributes = marked(
        "{\"data\":{\"p\":\"" SECRET "\",\"b\":\"" SECRET_BASE64 "\"},\"open\":\"yes\",\"n\":1.10,"
        "\"list\":[0,{\"p/q\":{\"~\":\"" SECRET "\"}}]}",
        "[\"/data\",\"/list/1/p~1q/~0\"]");
    _cleanup_value_ const struct value *extensions =
        marked("{\"kubeConfig\":\"" SECRET "\"}", "[\"/kubeConfig\"]");
    _cleanup_value_ const struct value *dependencies = json("[\"v1:Namespace:a\",\"x\"]");
    _cleanup_value_ const struct value *result =
        marked("{\"password\":{\"deep\":[\"" SECRET "\"]},\"at\":null}", "[\"/password\"]");
    _cleanup_value_ const struct value *memory = json("{\"private\":\"" SECRET "\"}");

    return record_new(&(struct record){.status = RECORD_TAINTED,
                                       .id = id,
                                       .type = "Terraform",
                                       .deposed = "d1",
                                       .attributes = attributes,
                                       .extensions = extensions,
                                       .dependencies = dependencies,
                                       .result = result,
                                       .memory = memory,
                                       .uid = "u-1",
                                       .fields_digest = "of-" SECRET,
                                       .revision = INT64_MAX,
                                       .action = PLAN_DEFERRED,
                                       .call = {"call-1", 7, 1790000000000},
                                       .is_done = true,
                                       .is_only_read = true});
}

const struct record *mark_of(const char *id, const char *call)
{
    return record_new(&(struct record){.status = RECORD_CREATING,
                                       .id = id,
                                       .type = "Terraform",
                                       .action = PLAN_CREATE,
                                       .call = {call, 1, 5000}});
}

const struct record *large_record(const char *id, size_t length)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *attributes = NULL;
    uint32_t random = 1;

    while (text.length < length) {
        random = random * 1664525 + 1013904223;
        buf_add_char(&text, (char)('#' + (random >> 16) % 57));
    }
    attributes = value_pack("{s:s}", "noise", text.data);
    return record_new(&(struct record){.status = RECORD_APPLIED,
                                       .id = id,
                                       .type = "Kubernetes",
                                       .attributes = attributes,
                                       .action = PLAN_CREATE});
}

struct state *empty_state(void)
{
    return state_new(&(struct state_head){.spec_namespace = "team",
                                          .spec_name = "web",
                                          .spec_uid = "uid-1",
                                          .revision = 7,
                                          .applied_revision = 6,
                                          .generation = 3,
                                          .epoch = 2,
                                          .serial = 5});
}

static void expect_same_head(const struct state_head *a, const struct state_head *b,
                             const char *note)
{
    EXPECT_STR(a->spec_namespace, b->spec_namespace, note);
    EXPECT_STR(a->spec_name, b->spec_name, note);
    EXPECT(str_equal(a->spec_uid, b->spec_uid), note);
    EXPECT_INT(a->revision, b->revision, note);
    EXPECT_INT(a->applied_revision, b->applied_revision, note);
    EXPECT_INT(a->progressed_at, b->progressed_at, note);
    EXPECT(str_equal(a->operation_uid, b->operation_uid), note);
    EXPECT(str_equal(a->place, b->place), note);
    EXPECT_INT(a->generation, b->generation, note);
    EXPECT_INT(a->epoch, b->epoch, note);
    EXPECT_INT((int64_t)a->serial, (int64_t)b->serial, note);
    EXPECT(value_equal(a->policy, b->policy), note);
}

void expect_same_state(struct state *a, struct state *b, const char *note)
{
    expect_same_head(state_head(a), state_head(b), note);
    EXPECT_INT((int64_t)state_count(a), (int64_t)state_count(b), note);
    for (size_t i = 0; i < state_count(a) && i < state_count(b); i++)
        EXPECT(record_equal(state_at(a, i), state_at(b, i)), state_at(a, i)->id);
}
