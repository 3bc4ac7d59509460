#include "test/unit/runtimes/terraform/schema/make_schema.h"

#include <tfplugin.pb-c.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

struct making {
    struct arena arena;
    int protocol;
};

static ProtobufCBinaryData pack(struct making *making, const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    ProtobufCBinaryData data = {length, arena_alloc(&making->arena, length + 1)};

    protobuf_c_message_pack(message, data.data);
    return data;
}

static ProtobufCBinaryData json(struct making *making, const struct value *value)
{
    _cleanup_free_ char *text = json_to_str(value);

    return (ProtobufCBinaryData){strlen(text), (uint8_t *)arena_str(&making->arena, text)};
}

static int nesting_of(const struct value *description)
{
    static const char *const names[] = {"", "single", "list", "set", "map", "group"};
    int nesting = 1;

    while (!str_equal(value_get_string(description, "nesting"), names[nesting]))
        nesting++;
    return nesting;
}

static bool flag(const struct value *description, const char *name)
{
    return value_bool(value_get(description, name), false);
}

static ProtobufCBinaryData *attributes(struct making *making, const struct value *description,
                                       size_t *ret);

static ProtobufCBinaryData attribute_5(struct making *making, const char *name,
                                       const struct value *description)
{
    Tfplugin__Attribute5 wire;

    tfplugin__attribute5__init(&wire);
    wire.name = (char *)(uintptr_t)name;
    wire.type = json(making, value_get(description, "type"));
    wire.required = flag(description, "required");
    wire.optional = flag(description, "optional");
    wire.computed = flag(description, "computed");
    wire.sensitive = flag(description, "sensitive");
    wire.write_only = flag(description, "writeOnly");
    return pack(making, &wire.base);
}

static ProtobufCBinaryData attribute_6(struct making *making, const char *name,
                                       const struct value *description)
{
    Tfplugin__Attribute6 wire;
    Tfplugin__NestedType nested;

    tfplugin__attribute6__init(&wire);
    tfplugin__nested_type__init(&nested);
    wire.name = (char *)(uintptr_t)name;
    wire.required = flag(description, "required");
    wire.optional = flag(description, "optional");
    wire.computed = flag(description, "computed");
    wire.sensitive = flag(description, "sensitive");
    wire.write_only = flag(description, "writeOnly");
    if (value_get(description, "nesting")) {
        nested.attributes = attributes(making, description, &nested.n_attributes);
        nested.nesting = nesting_of(description);
        wire.nested_type = &nested;
    } else {
        wire.type = json(making, value_get(description, "type"));
    }
    return pack(making, &wire.base);
}

static ProtobufCBinaryData *attributes(struct making *making, const struct value *description,
                                       size_t *ret)
{
    const struct value *all = value_get(description, "attributes");
    size_t n = value_count(all), length;
    ProtobufCBinaryData *made = ARENA_ARRAY(&making->arena, ProtobufCBinaryData, n);

    for (size_t i = 0; i < n; i++)
        made[i] = (making->protocol == 5 ? attribute_5 : attribute_6)(
            making, value_member_key(all, i, &length), value_member(all, i));
    *ret = n;
    return made;
}

static Tfplugin__Block *block(struct making *making, const struct value *description)
{
    Tfplugin__Block *made = ARENA_NEW(&making->arena, Tfplugin__Block);
    const struct value *all = value_get(description, "blocks");
    size_t length;

    tfplugin__block__init(made);
    made->attributes = attributes(making, description, &made->n_attributes);
    made->n_block_types = value_count(all);
    made->block_types = ARENA_ARRAY(&making->arena, Tfplugin__NestedBlock *, made->n_block_types);
    for (size_t i = 0; i < made->n_block_types; i++) {
        Tfplugin__NestedBlock *nested = made->block_types[i] =
            ARENA_NEW(&making->arena, Tfplugin__NestedBlock);
        const struct value *of = value_member(all, i);

        tfplugin__nested_block__init(nested);
        nested->type_name = (char *)(uintptr_t)value_member_key(all, i, &length);
        nested->block = pack(making, &block(making, of)->base);
        nested->nesting = nesting_of(of);
        nested->min_items = value_int(value_get(of, "min"), 0);
        nested->max_items = value_int(value_get(of, "max"), 0);
    }
    return made;
}

void describe_schema(const struct value *description, int protocol, struct buf *to)
{
    struct making making = {.protocol = protocol};
    Tfplugin__Schema schema;
    ProtobufCBinaryData bytes;

    arena_init(&making.arena);
    tfplugin__schema__init(&schema);
    schema.version = value_int(value_get(description, "version"), 0);
    schema.block = block(&making, description);
    bytes = pack(&making, &schema.base);
    buf_add(to, bytes.data, bytes.len);
    arena_done(&making.arena);
}

struct tf_schema *make_schema(const char *description, int protocol)
{
    _cleanup_value_ const struct value *parsed = NULL;
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct tf_schema *schema = NULL;
    struct error error = {0};

    EXPECT_INT(json_read_str(description, &parsed, &error), 0, error.message);
    describe_schema(parsed, protocol, &bytes);
    EXPECT_INT(tf_schema_decode(bytes.data, bytes.length, protocol, &schema, &error), 0,
               error.message);
    return schema;
}
