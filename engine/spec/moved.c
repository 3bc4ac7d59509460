#include "engine/spec/moved.h"

#include "engine/base/str.h"
#include "engine/spec/private.h"
#include "engine/spec/ref.h"

const char *moved_from(const struct resource *resource)
{
    return value_get_string(resource->extensions, MOVED_FROM);
}

const struct value *moved_strip(const struct value *extensions)
{
    return value_get(extensions, MOVED_FROM) ? value_without(extensions, MOVED_FROM)
                                             : value_ref(extensions);
}

void parse_moved(struct parse *parse, size_t index, const struct place *place)
{
    struct check *check = &parse->check;
    struct resource *resource = &parse->spec->resources[index], *other;
    const struct place in = {.above = place, .key = "extensions"};
    const struct place at = {.above = &in, .key = MOVED_FROM};
    const struct value *value = value_get(resource->extensions, MOVED_FROM);
    const char *id;

    if (check_is_absent(value) || !(id = check_text(check, value, &at)))
        return;
    other = strmap_get(&parse->spec->moved, id);
    if (ref_is(value))
        check_problem(check, INVALID_SPEC, &at, "must be written out, and cannot be a reference");
    else if (str_equal(id, resource->id))
        check_problem(check, INVALID_SPEC, &at, "is the id that the resource has");
    else if (other)
        check_problem(check, INVALID_SPEC, &at,
                      "one object cannot become two: \"%s\" has moved from \"%s\", too",
                      other->id ? other->id : "", id);
    else
        strmap_put(&parse->spec->moved, id, resource);
}
