#include "engine/spec/place.h"

void place_path(const struct place *place, struct path *path)
{
    if (!place)
        return;
    place_path(place->above, path);
    if (place->key)
        path_push_key(path, place->key);
    else
        path_push_index(path, place->index);
}

/* Recurses no deeper than LIMIT_DEPTH, which bounds every value. */
int place_each_string(const struct value *value, const struct place *above, place_on_string *fn,
                      void *arg, struct error *error)
{
    size_t count = value_count(value);
    int r = 0;

    if (value_is(value, VALUE_STRING))
        return fn(arg, value, above, error);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct place place = {.above = above, .key = value_member_key(value, i, NULL), .index = i};

        r = place_each_string(value_child(value, i), &place, fn, arg, error);
    }
    return r;
}
