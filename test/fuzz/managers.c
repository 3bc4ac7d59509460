/*
 * Field managers and sets of fields, of any form: the first line is managedFields, the second the
 * object after a dry-run. What is taken over is taken once, what is left of the object was in it,
 * and a field that is kept stays.
 */
#include "runtimes/kubernetes/objects/managers.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "test/fuzz/fuzz.h"

#define OURS "kusion-operator-0123456789abcdef"

static const struct managers_taking people = {.from = MANAGERS_PEOPLE};

/* All of `part` is in `whole`, in this order. */
static bool is_within(const struct value *part, const struct value *whole)
{
    size_t at = 0;

    if (value_type(part) != value_type(whole))
        return false;
    if (value_is(part, VALUE_OBJECT)) {
        for (size_t i = 0; i < value_count(part); i++) {
            size_t length;
            const char *key = value_member_key(part, i, &length);
            const struct value *member = value_get_n(whole, key, length);

            if (!member || !is_within(value_member(part, i), member))
                return false;
        }
        return true;
    }
    if (!value_is(part, VALUE_ARRAY))
        return value_equal(part, whole);
    for (size_t i = 0; i < value_count(part); i++, at++) {
        while (at < value_count(whole) && !is_within(value_at(part, i), value_at(whole, at)))
            at++;
        if (at == value_count(whole))
            return false;
    }
    return true;
}

static void check_sets(const struct value *a, const struct value *b, const struct value *object)
{
    _cleanup_value_ const struct value *ab = fields_union(a, b), *ba = fields_union(b, a);
    _cleanup_value_ const struct value *again = fields_union(ab, ba);
    _cleanup_value_ const struct value *none = value_pack("{}");
    _cleanup_value_ const struct value *pruned = fields_prune(object, ab, b);
    _cleanup_value_ const struct value *kept = fields_prune(object, ab, again);
    _cleanup_value_ const struct value *same = fields_prune(object, none, a);

    must(ab && value_equal(ab, ba) && value_equal(again, ab));
    must(is_within(pruned, object));
    must(value_equal(kept, object) && value_equal(same, object));
}

static void check_managers(const struct value *entries, const struct value *object)
{
    static const char *const managed[] = {"metadata", "managedFields"};
    _cleanup_value_ const struct value *taken = managers_take(entries, OURS, &people);
    _cleanup_value_ const struct value *again = managers_take(taken, OURS, &people);
    _cleanup_value_ const struct value *applied = value_with_path(object, managed, 2, entries);
    _cleanup_value_ const struct value *left = managers_prune(applied, taken, OURS, &people);
    _cleanup_free_ char *before = managers_digest(entries, OURS);
    _cleanup_free_ char *after = managers_digest(taken, OURS);

    must(!again);
    if (!taken) {
        must(!left);
        return;
    }
    must(before && after && !str_equal(before, after));
    must(value_count(taken) <= value_count(entries));
    must(!left || is_within(left, applied));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    _cleanup_value_ const struct value *entries = NULL, *object = NULL;

    if (json_read_str(line, &entries, NULL) < 0 ||
        json_read((const char *)data, size, &object, NULL) < 0)
        return 0;
    check_managers(entries, object);
    for (size_t i = 0; i + 1 < value_count(entries) && i < 8; i++)
        check_sets(value_get(value_at(entries, i), "fieldsV1"),
                   value_get(value_at(entries, i + 1), "fieldsV1"), object);
    return 0;
}
