#include "engine/state/state_value.h"

const struct head_field head_fields[N_HEAD_FIELDS] = {
    {"specUid", HEAD_TEXT, HEAD_ELSEWHERE, offsetof(struct state_head, spec_uid)},
    {"revision", HEAD_NUMBER, HEAD_REQUIRED, offsetof(struct state_head, revision)},
    {"appliedRevision", HEAD_NUMBER, HEAD_REQUIRED, offsetof(struct state_head, applied_revision)},
    {"recalledRevision", HEAD_NUMBER, HEAD_OPTIONAL,
     offsetof(struct state_head, recalled_revision)},
    {"generation", HEAD_NUMBER, HEAD_REQUIRED, offsetof(struct state_head, generation)},
    {"progressedAt", HEAD_NUMBER, HEAD_OPTIONAL, offsetof(struct state_head, progressed_at)},
    {"operationUid", HEAD_TEXT, HEAD_OPTIONAL, offsetof(struct state_head, operation_uid)},
    {"place", HEAD_TEXT, HEAD_OPTIONAL, offsetof(struct state_head, place)},
    {"epoch", HEAD_NUMBER, HEAD_REQUIRED, offsetof(struct state_head, epoch)},
    {"policy", HEAD_VALUE, HEAD_OPTIONAL, offsetof(struct state_head, policy)},
    {"hold", HEAD_VALUE, HEAD_OPTIONAL, offsetof(struct state_head, hold)},
};

int head_members_check(const struct value *object, const char *const *others, struct error *error)
{
    const char *known[N_HEAD_FIELDS + HEAD_OTHERS + 1] = {0};
    size_t n = 0;

    for (size_t i = 0; i < N_HEAD_FIELDS; i++)
        if (head_fields[i].presence != HEAD_ELSEWHERE)
            known[n++] = head_fields[i].name;
    for (; *others; others++)
        known[n++] = *others;
    return members_check(object, known, error);
}

const struct value *head_field_value(const struct head_field *field, const struct state_head *head)
{
    const void *place = (const char *)head + field->offset;
    const char *text;

    switch (field->type) {
    case HEAD_NUMBER:
        return value_pack("I", *(const int64_t *)place);
    case HEAD_TEXT:
        text = *(const char *const *)place;
        return text ? value_pack("s", text) : NULL;
    case HEAD_VALUE:
        break;
    }
    return value_ref(*(const struct value *const *)place);
}

int head_field_read(const struct head_field *field, const struct value *from,
                    struct state_head *ret, struct error *error)
{
    const struct value *member = value_get(from, field->name);
    bool is_null = value_is(member, VALUE_NULL);
    void *place = (char *)ret + field->offset;

    if (!member)
        return 0;
    if (field->type == HEAD_NUMBER)
        return member_int(from, field->name, place, error);
    if (field->type == HEAD_VALUE)
        *(const struct value **)place = is_null ? NULL : member;
    else if (is_null)
        *(const char **)place = NULL;
    else
        return member_text_if(from, field->name, place, error);
    return 0;
}
