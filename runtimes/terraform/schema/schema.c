#include "runtimes/terraform/schema/schema.h"

#include <tfplugin.pb-c.h>

#include "engine/base/mem.h"
#include "engine/base/strmap.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"

/* Levels of blocks. Terraform's own tools stop at about 10. */
#define MOST_LEVELS 32

struct decoding {
    struct arena *arena;
    int protocol;
    int level;
    struct error *error;
};

static int decode_block(struct decoding *decoding, const Tfplugin__Block *wire,
                        const struct tf_block **ret);

static int bad(const struct decoding *decoding, const char *what)
{
    return err_set(decoding->error, ERR_INVALID, "ProviderFailed",
                   "the provider's schema cannot be read: %s", what);
}

/* ---- Types ---- */

static const struct tf_type *nested_type(struct decoding *decoding, const struct tf_nested *nested)
{
    static const enum tf_kind kinds[] = {
        [TF_NESTED_LIST] = TF_LIST, [TF_NESTED_SET] = TF_SET, [TF_NESTED_MAP] = TF_MAP};

    if (nested->nesting == TF_SINGLE || nested->nesting == TF_GROUP)
        return nested->block->type;
    return tf_type_of(decoding->arena, kinds[nested->nesting], nested->block->type);
}

/* Blocks that hold dynamic values need not be of one type: Terraform sends them as a tuple or an
 * object, whose type comes with the value. */
static const struct tf_type *block_type(struct decoding *decoding, const struct tf_nested *nested)
{
    const struct tf_type *type = nested_type(decoding, nested);
    bool is_list = type->kind == TF_LIST || type->kind == TF_MAP;

    return is_list && tf_type_has_dynamic(type->element) ? &tf_dynamic : type;
}

static const struct tf_type *object_type(struct decoding *decoding, const struct tf_block *block)
{
    struct tf_type *type = ARENA_NEW(decoding->arena, struct tf_type);
    size_t n = 0;

    type->kind = TF_OBJECT;
    type->n_members = block->n_attributes + block->n_blocks;
    type->members = ARENA_ARRAY(decoding->arena, struct tf_member, type->n_members);
    for (size_t i = 0; i < block->n_attributes; i++)
        type->members[n++] =
            (struct tf_member){block->attributes[i].name, block->attributes[i].type};
    for (size_t i = 0; i < block->n_blocks; i++)
        type->members[n++] = (struct tf_member){block->blocks[i].name, block->blocks[i].type};
    return type;
}

/* ---- Attributes ---- */

static int decode_name(struct decoding *decoding, const char *wire, const char **ret)
{
    if (!*wire || utf8_valid(wire, strlen(wire)) != strlen(wire))
        return bad(decoding, "a name is not a word");
    *ret = arena_str(decoding->arena, wire);
    return 0;
}

static int decode_type(struct decoding *decoding, const ProtobufCBinaryData *wire,
                       const struct tf_type **ret)
{
    _cleanup_value_ const struct value *json = NULL;
    int r = json_read((const char *)wire->data, wire->len, &json, decoding->error);

    return r < 0 ? r : tf_type_read(decoding->arena, json, ret, decoding->error);
}

static int decode_nested(struct decoding *decoding, const Tfplugin__NestedType *wire,
                         struct tf_attribute *attribute)
{
    /* A block without blocks. */
    Tfplugin__Block inside;
    struct tf_nested *nested = ARENA_NEW(decoding->arena, struct tf_nested);
    int r;

    if (wire->nesting < TF_SINGLE || wire->nesting > TF_NESTED_MAP)
        return bad(decoding, "a nesting is not known");
    tfplugin__block__init(&inside);
    inside.n_attributes = wire->n_attributes;
    inside.attributes = wire->attributes;
    r = decode_block(decoding, &inside, &nested->block);
    if (r < 0)
        return r;
    nested->name = attribute->name;
    nested->nesting = (enum tf_nesting)wire->nesting;
    nested->type = nested_type(decoding, nested);
    attribute->nested = nested;
    attribute->type = nested->type;
    return 0;
}

static int decode_attribute_5(struct decoding *decoding, const Tfplugin__Attribute5 *wire,
                              struct tf_attribute *ret)
{
    int r = decode_name(decoding, wire->name, &ret->name);

    ret->required = wire->required;
    ret->optional = wire->optional;
    ret->computed = wire->computed;
    ret->sensitive = wire->sensitive;
    ret->write_only = wire->write_only;
    return r < 0 ? r : decode_type(decoding, &wire->type, &ret->type);
}

static int decode_attribute_6(struct decoding *decoding, const Tfplugin__Attribute6 *wire,
                              struct tf_attribute *ret)
{
    int r = decode_name(decoding, wire->name, &ret->name);

    ret->required = wire->required;
    ret->optional = wire->optional;
    ret->computed = wire->computed;
    ret->sensitive = wire->sensitive;
    ret->write_only = wire->write_only;
    if (r < 0)
        return r;
    return wire->nested_type ? decode_nested(decoding, wire->nested_type, ret)
                             : decode_type(decoding, &wire->type, &ret->type);
}

static int decode_attribute(struct decoding *decoding, const ProtobufCBinaryData *wire,
                            struct tf_attribute *ret)
{
    Tfplugin__Attribute5 *five = NULL;
    Tfplugin__Attribute6 *six = NULL;
    int r;

    if (decoding->protocol == 5) {
        five = tfplugin__attribute5__unpack(NULL, wire->len, wire->data);
        r = five ? decode_attribute_5(decoding, five, ret) : bad(decoding, "an attribute");
    } else {
        six = tfplugin__attribute6__unpack(NULL, wire->len, wire->data);
        r = six ? decode_attribute_6(decoding, six, ret) : bad(decoding, "an attribute");
    }
    tfplugin__attribute5__free_unpacked(five, NULL);
    tfplugin__attribute6__free_unpacked(six, NULL);
    return r;
}

/* ---- Blocks ---- */

static int decode_nested_block(struct decoding *decoding, const Tfplugin__NestedBlock *wire,
                               struct tf_nested *ret)
{
    Tfplugin__Block *block;
    int r = decode_name(decoding, wire->type_name, &ret->name);

    if (r >= 0 && (wire->nesting < TF_SINGLE || wire->nesting > TF_GROUP))
        r = bad(decoding, "a nesting is not known");
    if (r < 0)
        return r;
    block = tfplugin__block__unpack(NULL, wire->block.len, wire->block.data);
    r = block ? decode_block(decoding, block, &ret->block) : bad(decoding, "a block");
    tfplugin__block__free_unpacked(block, NULL);
    if (r < 0)
        return r;
    ret->nesting = (enum tf_nesting)wire->nesting;
    ret->min = wire->min_items;
    ret->max = wire->max_items;
    ret->type = block_type(decoding, ret);
    return 0;
}

static int check_names(const struct decoding *decoding, const struct tf_type *type)
{
    struct strmap names = STRMAP_INIT;

    for (size_t i = 0; i < type->n_members; i++)
        strmap_put(&names, type->members[i].name, &type->members[i]);
    if (names.count == type->n_members) {
        strmap_done(&names);
        return 0;
    }
    strmap_done(&names);
    return bad(decoding, "a name occurs twice");
}

static void note_sensitive(struct tf_block *block)
{
    for (size_t i = 0; i < block->n_attributes; i++) {
        const struct tf_attribute *attribute = &block->attributes[i];
        const struct tf_block *inside = attribute->nested ? attribute->nested->block : NULL;

        block->has_sensitive |=
            attribute->sensitive || attribute->write_only || (inside && inside->has_sensitive);
    }
    for (size_t i = 0; i < block->n_blocks; i++)
        block->has_sensitive |= block->blocks[i].block->has_sensitive;
}

static int fill_block(struct decoding *decoding, const Tfplugin__Block *wire,
                      struct tf_block *block)
{
    int r = 0;

    block->n_attributes = wire->n_attributes;
    block->attributes = ARENA_ARRAY(decoding->arena, struct tf_attribute, wire->n_attributes);
    for (size_t i = 0; i < wire->n_attributes && r >= 0; i++)
        r = decode_attribute(decoding, &wire->attributes[i], &block->attributes[i]);
    block->n_blocks = wire->n_block_types;
    block->blocks = ARENA_ARRAY(decoding->arena, struct tf_nested, wire->n_block_types);
    for (size_t i = 0; i < wire->n_block_types && r >= 0; i++)
        r = decode_nested_block(decoding, wire->block_types[i], &block->blocks[i]);
    if (r < 0)
        return r;
    block->type = object_type(decoding, block);
    note_sensitive(block);
    return check_names(decoding, block->type);
}

static int decode_block(struct decoding *decoding, const Tfplugin__Block *wire,
                        const struct tf_block **ret)
{
    struct tf_block *block = ARENA_NEW(decoding->arena, struct tf_block);
    int r;

    if (decoding->level == MOST_LEVELS)
        return bad(decoding, "its blocks are too deep");
    decoding->level++;
    r = fill_block(decoding, wire, block);
    decoding->level--;
    if (r >= 0)
        *ret = block;
    return r;
}

/* ---- A whole schema ---- */

int tf_schema_decode(const void *data, size_t length, int protocol, struct tf_schema **ret,
                     struct error *error)
{
    Tfplugin__Schema *wire = tfplugin__schema__unpack(NULL, length, data);
    Tfplugin__Block nothing;
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = NEW(struct tf_schema);
    struct decoding decoding = {.arena = &schema->arena, .protocol = protocol, .error = error};
    int r;

    atomic_init(&schema->references, 1);
    arena_init(&schema->arena);
    if (!wire)
        return bad(&decoding, "it is no message");
    tfplugin__block__init(&nothing);
    schema->version = wire->version;
    r = decode_block(&decoding, wire->block ? wire->block : &nothing, &schema->block);
    tfplugin__schema__free_unpacked(wire, NULL);
    if (r >= 0)
        *ret = TAKE(schema);
    return r;
}

struct tf_schema *tf_schema_ref(struct tf_schema *schema)
{
    atomic_fetch_add(&schema->references, 1);
    return schema;
}

void tf_schema_unref(struct tf_schema *schema)
{
    if (!schema || atomic_fetch_sub(&schema->references, 1) > 1)
        return;
    arena_done(&schema->arena);
    free(schema);
}
