#include "engine/spec/import_id.h"
#include "runtimes/http/session.h"

const char *record_place(const struct record *record)
{
    const char *place = value_get_string(record->memory, "place");

    return place && *place ? place : NULL;
}

bool record_is_unseen(const struct record *record)
{
    return value_bool(value_get(record->memory, "unseen"), false);
}

/* An import id counts as long as State does not know the thing. */
static const char *id_of(const struct runtime_target *target, const char *described)
{
    const struct record *prior = target->prior;
    const char *known = prior ? value_get_string(prior->memory, "id") : NULL;
    bool is_doubtful = !prior || prior->status == RECORD_CREATING;

    if (known || !described || !is_doubtful || target->part != TARGET_WHOLE)
        return known;
    return value_get_string(target->extensions, IMPORT_ID);
}

int subject_of(const struct runtime_target *target, struct subject *ret, struct error *error)
{
    const struct record *prior = target->prior;
    int r = description_read(target->extensions, &ret->description, error);

    if (r < 0)
        return r;
    ret->id = id_of(target, ret->description.id);
    ret->fill = (struct fill){
        .attributes = target->attributes ? target->attributes : (prior ? prior->attributes : NULL),
        .parameters = ret->description.parameters,
        .id = ret->id,
    };
    return 0;
}
