#include "runtimes/terraform/values/type.h"

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/value/children.h"
#include "engine/value/json.h"

const struct tf_type tf_string = {.kind = TF_STRING}, tf_number = {.kind = TF_NUMBER},
                     tf_bool = {.kind = TF_BOOL}, tf_dynamic = {.kind = TF_DYNAMIC};

/* words: of a type alone, and of elements that have it. */
static const struct {
    const char *name;
    const struct tf_type *scalar; /* NULL: the type has others inside */
    const char *one, *many;
} kinds[] = {
    [TF_STRING] = {"string", &tf_string, "a string", "strings"},
    [TF_NUMBER] = {"number", &tf_number, "a number", "numbers"},
    [TF_BOOL] = {"bool", &tf_bool, "true or false", "true or false"},
    [TF_DYNAMIC] = {"dynamic", &tf_dynamic, "any value", "any values"},
    [TF_LIST] = {"list", NULL, "a list", "lists"},
    [TF_SET] = {"set", NULL, "a list", "lists"},
    [TF_MAP] = {"map", NULL, "an object", "objects"},
    [TF_OBJECT] = {"object", NULL, "an object", "objects"},
    [TF_TUPLE] = {"tuple", NULL, "a list", "lists"},
};

const struct tf_type *tf_type_of(struct arena *arena, enum tf_kind kind,
                                 const struct tf_type *element)
{
    struct tf_type *type = ARENA_NEW(arena, struct tf_type);

    type->kind = kind;
    type->element = element;
    return type;
}

/* ---- From JSON ---- */

static int bad_type(struct error *error)
{
    return err_set(error, ERR_INVALID, "ProviderFailed", "it is not a type of Terraform's values");
}

static int read_members(struct arena *arena, const struct value *json, struct tf_type *type,
                        struct error *error)
{
    bool is_object = type->kind == TF_OBJECT;
    int r = 0;

    if (!value_is(json, is_object ? VALUE_OBJECT : VALUE_ARRAY))
        return bad_type(error);
    type->n_members = value_count(json);
    type->members = ARENA_ARRAY(arena, struct tf_member, type->n_members);
    for (size_t i = 0; i < type->n_members && r >= 0; i++) {
        size_t length = 0;
        const char *name = is_object ? value_member_key(json, i, &length) : NULL;

        type->members[i].name = name ? arena_str_n(arena, name, length) : NULL;
        r = tf_type_read(arena, value_child(json, i), &type->members[i].type, error);
    }
    return r;
}

static int read_composed(struct arena *arena, const struct value *json, const struct tf_type **ret,
                         struct error *error)
{
    const char *name = value_string(value_at(json, 0));
    struct tf_type *type;
    size_t kind = TF_LIST;
    int r;

    while (kind < ARRAY_SIZE(kinds) && !str_equal(name, kinds[kind].name))
        kind++;
    if (kind == ARRAY_SIZE(kinds) || value_count(json) < 2)
        return bad_type(error);
    type = ARENA_NEW(arena, struct tf_type);
    type->kind = (enum tf_kind)kind;
    r = kind == TF_OBJECT || kind == TF_TUPLE
            ? read_members(arena, value_at(json, 1), type, error)
            : tf_type_read(arena, value_at(json, 1), &type->element, error);
    if (r >= 0)
        *ret = type;
    return r;
}

/* As deep as the JSON is, which has a bound. */
int tf_type_read(struct arena *arena, const struct value *json, const struct tf_type **ret,
                 struct error *error)
{
    const char *name = value_string(json);

    if (value_is(json, VALUE_ARRAY))
        return read_composed(arena, json, ret, error);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].scalar && str_equal(name, kinds[i].name)) {
            *ret = kinds[i].scalar;
            return 0;
        }
    return bad_type(error);
}

/* ---- To JSON ---- */

static void write_members(struct buf *to, const struct tf_type *type)
{
    bool is_object = type->kind == TF_OBJECT;

    buf_add_char(to, is_object ? '{' : '[');
    for (size_t i = 0; i < type->n_members; i++) {
        const struct tf_member *member = &type->members[i];

        if (i)
            buf_add_char(to, ',');
        if (is_object) {
            json_write_string(to, member->name, strlen(member->name));
            buf_add_char(to, ':');
        }
        tf_type_write(to, member->type);
    }
    buf_add_char(to, is_object ? '}' : ']');
}

void tf_type_write(struct buf *to, const struct tf_type *type)
{
    if (kinds[type->kind].scalar) {
        buf_printf(to, "\"%s\"", kinds[type->kind].name);
        return;
    }
    buf_printf(to, "[\"%s\",", kinds[type->kind].name);
    if (type->element)
        tf_type_write(to, type->element);
    else
        write_members(to, type);
    buf_add_char(to, ']');
}

/* ---- Of a value ---- */

/* NULL: nothing of the value is unknown, or it is no reference, or its type is not known. */
static const struct tf_type *find_type(const struct value *value, const struct value *written,
                                       const struct tf_typing *typing)
{
    bool is_asked = typing && value_has_unknown(value) && ref_is(written);

    return is_asked ? typing->find(typing->arg, value_string(written)) : NULL;
}

static const struct tf_type *infer_members(struct arena *arena, const struct value *value,
                                           const struct value *written,
                                           const struct tf_typing *typing)
{
    struct tf_type *type = ARENA_NEW(arena, struct tf_type);
    bool is_object = value_is(value, VALUE_OBJECT);

    type->kind = is_object ? TF_OBJECT : TF_TUPLE;
    type->n_members = value_count(value);
    type->members = ARENA_ARRAY(arena, struct tf_member, type->n_members);
    for (size_t i = 0; i < type->n_members; i++) {
        size_t length = 0;
        const char *name = is_object ? value_member_key(value, i, &length) : NULL;

        type->members[i].name = name ? arena_str_n(arena, name, length) : NULL;
        type->members[i].type = tf_type_infer(arena, value_child(value, i),
                                              value_counterpart(written, value, i), typing);
    }
    return type;
}

const struct tf_type *tf_type_infer(struct arena *arena, const struct value *value,
                                    const struct value *written, const struct tf_typing *typing)
{
    const struct tf_type *found = find_type(value, written, typing);

    if (found)
        return found;
    switch (value_type(value)) {
    case VALUE_STRING:
        return &tf_string;
    case VALUE_NUMBER:
        return &tf_number;
    case VALUE_BOOL:
        return &tf_bool;
    case VALUE_ARRAY:
    case VALUE_OBJECT:
        return infer_members(arena, value, written, typing);
    default:
        return &tf_dynamic;
    }
}

const struct tf_type *tf_type_member(const struct tf_type *object, const char *name, size_t length)
{
    for (size_t i = 0; i < object->n_members; i++)
        if (strlen(object->members[i].name) == length &&
            memcmp(object->members[i].name, name, length) == 0)
            return object->members[i].type;
    return NULL;
}

bool tf_type_has_dynamic(const struct tf_type *type)
{
    if (type->kind == TF_DYNAMIC)
        return true;
    if (type->element)
        return tf_type_has_dynamic(type->element);
    for (size_t i = 0; i < type->n_members; i++)
        if (tf_type_has_dynamic(type->members[i].type))
            return true;
    return false;
}

const struct tf_type *tf_type_child(const struct tf_type *type, const struct value *value, size_t i)
{
    size_t length;
    const char *name;

    if (type->element)
        return type->element;
    if (type->kind == TF_TUPLE)
        return i < type->n_members ? type->members[i].type : NULL;
    name = type->kind == TF_OBJECT ? value_member_key(value, i, &length) : NULL;
    return name ? tf_type_member(type, name, length) : NULL;
}

bool tf_type_is_open(const struct tf_type *type, const struct value *value,
                     const struct value *written, const struct tf_typing *typing)
{
    if (!value_has_unknown(value))
        return false;
    if (type->kind == TF_DYNAMIC && find_type(value, written, typing))
        return false;
    if (value_is(value, VALUE_UNKNOWN))
        return tf_type_has_dynamic(type);
    for (size_t i = 0; i < value_count(value); i++) {
        const struct tf_type *inner =
            type->kind == TF_DYNAMIC ? type : tf_type_child(type, value, i);

        if (inner &&
            tf_type_is_open(inner, value_child(value, i),
                            type->kind == TF_SET ? NULL : value_counterpart(written, value, i),
                            typing))
            return true;
    }
    return false;
}

void tf_type_describe(struct buf *to, const struct tf_type *type)
{
    buf_add_str(to, kinds[type->kind].one);
    if (type->element)
        buf_printf(to, " of %s", kinds[type->element->kind].many);
}

/* ---- Conversion ---- */

enum form { FORM_SCALAR, FORM_ARRAY, FORM_OBJECT };

static enum form form_of(const struct tf_type *type)
{
    switch (type->kind) {
    case TF_LIST:
    case TF_SET:
    case TF_TUPLE:
        return FORM_ARRAY;
    case TF_MAP:
    case TF_OBJECT:
        return FORM_OBJECT;
    default:
        return FORM_SCALAR;
    }
}

/* All that may be inside of the one becomes an element of the other. */
static bool elements_convert(const struct tf_type *from, const struct tf_type *element)
{
    if (from->element)
        return tf_type_converts(from->element, element);
    for (size_t i = 0; i < from->n_members; i++)
        if (!tf_type_converts(from->members[i].type, element))
            return false;
    return true;
}

static bool members_convert(const struct tf_type *from, const struct tf_type *to)
{
    for (size_t i = 0; i < to->n_members; i++) {
        const struct tf_member *member = &to->members[i];
        const struct tf_type *its = from->element
                                        ? from->element
                                        : tf_type_member(from, member->name, strlen(member->name));

        if (its && !tf_type_converts(its, member->type))
            return false;
    }
    return true;
}

bool tf_type_converts(const struct tf_type *from, const struct tf_type *to)
{
    if (from->kind == TF_DYNAMIC || to->kind == TF_DYNAMIC)
        return true;
    if (form_of(from) != form_of(to))
        return false;
    if (form_of(to) == FORM_SCALAR)
        return from->kind == to->kind || from->kind == TF_STRING || to->kind == TF_STRING;
    if (to->element)
        return elements_convert(from, to->element);
    return to->kind == TF_TUPLE || members_convert(from, to);
}
