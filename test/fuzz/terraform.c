/*
 * What a Terraform provider may answer: the first line is the line of its handshake, or a schema in
 * Base64; the rest is a state of that schema as msgpack. The type of a schema that was read can be
 * written and read again. A state that was read is encoded, and is the same when it is read again;
 * what is proposed for it and what is marked of it keep its values; it is what was planned for it.
 */
#include "engine/base/base64.h"
#include "engine/value/json.h"
#include "runtimes/terraform/plugin/handshake.h"
#include "runtimes/terraform/schema/schema.h"
#include "test/fuzz/fuzz.h"

static void check_type(const struct tf_type *type)
{
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    _cleanup_buf_ struct buf text = BUF_INIT, again = BUF_INIT;
    _cleanup_value_ const struct value *json = NULL;
    const struct tf_type *read;

    tf_type_write(&text, type);
    must(json_read(text.data, text.length, &json, NULL) == 0);
    must(tf_type_read(&arena, json, &read, NULL) == 0);
    tf_type_write(&again, read);
    must(strcmp(text.data, again.data) == 0);
}

static void check_same(const struct value *value, const struct tf_type *type)
{
    _cleanup_value_ const struct value *again = NULL;
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    if (tf_encode(&bytes, value, type, NULL) < 0) /* a number with too many digits */
        return;
    must(tf_decode(bytes.data, bytes.length, type, TF_PLAIN, &again, NULL) == 0);
    must(value_equal(value, again));
}

static void check_state(const struct tf_block *block, const struct value *state)
{
    _cleanup_value_ const struct value *proposed = tf_propose(block, state, state);
    _cleanup_value_ const struct value *created = tf_propose(block, NULL, state);
    _cleanup_value_ const struct value *marked = tf_mark(block, state);
    struct error error = {0};

    must(value_equal(marked, state));
    must(!value_has_sensitive(marked) || block->has_sensitive);
    must(value_equal(created, state));
    must(value_type(proposed) == value_type(state));
    must(tf_check_applied(block, state, state, &error) == 0);
    if (value_is(state, VALUE_OBJECT))
        must(tf_check_planned(block, state, state, state, &error) == 0 || error.code);
}

static void check_schema(struct tf_schema *schema, const uint8_t *data, size_t size)
{
    const struct tf_block *block = schema->block;
    const struct value *state = NULL, *typed = NULL;
    struct error error = {0};
    int r = tf_decode(data, size, block->type, TF_PLAIN, &state, &error);

    must_agree(r, &error);
    check_type(block->type);
    if (r == 0) {
        must(tf_decode(data, size, block->type, TF_TYPED, &typed, NULL) == 0);
        check_same(state, block->type);
        check_state(block, state);
    }
    value_unref(state);
    value_unref(typed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    struct handshake handshake = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    if (handshake_read(line, "/tmp", &handshake, NULL) == 0)
        must(handshake.protocol == 5 || handshake.protocol == 6);
    free(handshake.socket);
    if (!base64_decode(&bytes, line, strlen(line)))
        return 0;
    for (int protocol = 5; protocol <= 6; protocol++) {
        struct tf_schema *schema = NULL;
        struct error error = {0};

        must_agree(tf_schema_decode(bytes.data, bytes.length, protocol, &schema, &error), &error);
        if (schema)
            check_schema(schema, data, size);
        tf_schema_unref(schema);
    }
    return 0;
}
