#include <string.h>

#include "engine/spec/parse.h"

/* Values of an unsupported field that are accepted, because they ask for nothing. */
enum unasked {
    IF_ABSENT,
    IF_EMPTY,    /* an empty list or object */
    IF_STANDARD, /* the value that describes what this version does anyway */
};

static const struct {
    const char *above; /* the object that contains the field; NULL: the spec */
    const char *name;
    enum unasked unasked;
    const char *standard;
} fields_of_later[] = {
    {"driftDetection", "mode", IF_STANDARD, "enabled"},
};

static bool is_asked(const struct value *value, enum unasked unasked, const char *standard)
{
    const char *text = value_string(value);

    if (check_is_absent(value))
        return false;
    switch (unasked) {
    case IF_ABSENT:
        return true;
    case IF_EMPTY:
        return value_count(value) > 0 ||
               !(value_is(value, VALUE_ARRAY) || value_is(value, VALUE_OBJECT));
    case IF_STANDARD:
        return !text || strcmp(text, standard) != 0;
    }
    return true;
}

void check_unsupported(struct check *check, const struct value *fields)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields_of_later); i++) {
        const char *above = fields_of_later[i].above, *name = fields_of_later[i].name;
        const char *standard = fields_of_later[i].standard;
        const struct place in = {.key = above};
        const struct place place = {.above = above ? &in : NULL, .key = name};
        const struct value *value = value_get(above ? value_get(fields, above) : fields, name);
        const char *text = value_string(value);

        if (!is_asked(value, fields_of_later[i].unasked, standard))
            continue;
        if (standard && text)
            check_problem(check, UNSUPPORTED, &place,
                          "\"%s\" is not supported by this version, only \"%s\" is", text,
                          standard);
        else
            check_problem(check, UNSUPPORTED, &place, "is not supported by this version");
    }
}
