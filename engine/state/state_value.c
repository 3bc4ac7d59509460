#include "engine/state/state_value.h"

#include "engine/base/str.h"

static const char *const statuses[] = {
    [RECORD_INTENT] = "intent",
    [RECORD_CREATING] = "creating",
    [RECORD_APPLIED] = "applied",
    [RECORD_TAINTED] = "tainted",
};

/* ---- Writing ---- */

static const struct value *call_to_value(const struct record_call *call)
{
    if (!call->id && !call->term && !call->until)
        return NULL;
    return value_pack("{s:s?, s:I, s:I}", "id", call->id, "term", call->term, "until", call->until);
}

/* The digest has no key, and what it is of may contain secrets: keys of items, for example. It is
 * as secret as the attributes. */
static const struct value *digest_to_value(const struct record *record)
{
    _cleanup_value_ const struct value *digest =
        record->fields_digest ? value_pack("s", record->fields_digest) : NULL;

    return value_has_sensitive(record->attributes) ? value_sensitive(digest) : value_ref(digest);
}

const struct value *record_to_value(const struct record *record)
{
    _cleanup_value_ const struct value *call = call_to_value(&record->call);
    _cleanup_value_ const struct value *digest = digest_to_value(record);
    _cleanup_value_ const struct value *done = record->is_done ? value_pack("b", 1) : NULL;
    _cleanup_value_ const struct value *read = record->is_only_read ? value_pack("b", 1) : NULL;
    _cleanup_value_ const struct value *lost =
        record->lost_revision ? value_pack("I", record->lost_revision) : NULL;
    _cleanup_value_ const struct value *own =
        value_pack("{s:s, s:s?, s:v?, s:v?, s:s?, s:v?, s:I, s:s, s:v?, s:v?, s:v?, s:v?}",
                   "status", statuses[record->status], "deposed", record->deposed, "result",
                   record->result, "memory", record->memory, "uid", record->uid, "fieldsDigest",
                   digest, "revision", record->revision, "action", plan_action_name(record->action),
                   "call", call, "lostRevision", lost, "done", done, "onlyRead", read);

    if (!own)
        return NULL;
    return value_pack("{s:s, s:s, s:v?, s:v?, s:v?, s:v}", "id", record->id, "type", record->type,
                      "attributes", record->attributes, "dependsOn", record->dependencies,
                      "extensions", record->extensions, "record", own);
}

static const struct value *resources_to_value(const struct state *state)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct record *record;

    value_begin_array(b);
    for (size_t at = 0; (record = state_next(state, &at));) {
        _cleanup_value_ const struct value *value = record_to_value(record);

        if (!value)
            return NULL;
        value_add(b, value);
    }
    value_end_array(b);
    return value_finish(b);
}

/* 0 and NULL are not written, but where they are required. */
static void add_head(struct value_builder *b, const struct state_head *head)
{
    for (size_t i = 0; i < N_HEAD_FIELDS; i++) {
        const struct head_field *field = &head_fields[i];
        _cleanup_value_ const struct value *value = head_field_value(field, head);
        bool is_empty = !value || (field->type == HEAD_NUMBER && !value_int(value, 0));

        if (field->presence == HEAD_ELSEWHERE || (field->presence == HEAD_OPTIONAL && is_empty))
            continue;
        value_key(b, field->name);
        value_add(b, value);
    }
}

const struct value *state_to_value(const struct state *state)
{
    const struct state_head *head = state_head(state);
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *resources = resources_to_value(state);
    _cleanup_value_ const struct value *spec =
        value_pack("{s:s, s:s, s:s?}", "namespace", head->spec_namespace, "name", head->spec_name,
                   "uid", head->spec_uid);

    if (!resources || !spec)
        return NULL;
    value_begin_object(b);
    value_key(b, "format");
    value_add_int(b, STATE_FORMAT);
    value_key(b, "spec");
    value_add(b, spec);
    add_head(b, head);
    value_key(b, "serial");
    value_add_int(b, (int64_t)head->serial);
    value_key(b, "resources");
    value_add(b, resources);
    value_end_object(b);
    return value_finish(b);
}

/* ---- Reading ---- */

static int status_from_value(const struct value *own, enum record_status *ret, struct error *error)
{
    const char *name = value_get_string(own, "status");

    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (str_equal(statuses[i], name)) {
            *ret = (enum record_status)i;
            return 0;
        }
    return state_corrupt(error, "its status is none that this version knows");
}

static int call_from_value(const struct value *value, struct record_call *ret, struct error *error)
{
    static const char *const known[] = {"id", "term", "until", NULL};
    int r;

    if (!value)
        return 0;
    r = members_check(value, known, error);
    if (r >= 0)
        r = member_text_if(value, "id", &ret->id, error);
    if (r >= 0)
        r = member_int_if(value, "term", &ret->term, error);
    return r < 0 ? r : member_int(value, "until", &ret->until, error);
}

static int own_from_value(const struct value *own, struct record *ret, struct error *error)
{
    static const char *const known[] = {
        "status", "deposed",      "result", "memory",   "uid", "fieldsDigest", "revision", "action",
        "call",   "lostRevision", "done",   "onlyRead", NULL};
    int r = members_check(own, known, error);

    if (r >= 0)
        r = status_from_value(own, &ret->status, error);
    if (r >= 0)
        r = member_text_if(own, "deposed", &ret->deposed, error);
    if (r >= 0)
        r = member_text_if(own, "uid", &ret->uid, error);
    if (r >= 0)
        r = member_text_if(own, "fieldsDigest", &ret->fields_digest, error);
    if (r >= 0)
        r = member_int(own, "revision", &ret->revision, error);
    if (r >= 0 && !plan_action_parse(value_get_string(own, "action"), &ret->action))
        r = state_corrupt(error, "its action is none that this version knows");
    if (r >= 0)
        r = member_int_if(own, "lostRevision", &ret->lost_revision, error);
    if (r >= 0)
        r = member_flag_if(own, "done", &ret->is_done, error);
    if (r >= 0)
        r = member_flag_if(own, "onlyRead", &ret->is_only_read, error);
    ret->result = value_get(own, "result");
    ret->memory = value_get(own, "memory");
    return r < 0 ? r : call_from_value(value_get(own, "call"), &ret->call, error);
}

int record_from_value(const struct value *value, const struct record **ret, struct error *error)
{
    static const char *const known[] = {"id",         "type",   "attributes", "dependsOn",
                                        "extensions", "record", NULL};
    struct record record = {.attributes = value_get(value, "attributes"),
                            .extensions = value_get(value, "extensions"),
                            .dependencies = value_get(value, "dependsOn")};
    int r = members_check(value, known, error);

    if (r >= 0)
        r = member_text(value, "id", &record.id, error);
    if (r >= 0)
        r = member_text(value, "type", &record.type, error);
    if (r >= 0 && record.attributes && !value_is(record.attributes, VALUE_OBJECT))
        r = state_corrupt(error, "its attributes are no object");
    if (r >= 0)
        r = own_from_value(value_get(value, "record"), &record, error);
    if (r < 0)
        return r;
    *ret = record_new(&record);
    return 0;
}

static int spec_from_value(const struct value *spec, struct state_head *ret, struct error *error)
{
    static const char *const known[] = {"namespace", "name", "uid", NULL};
    int r = members_check(spec, known, error);

    if (r >= 0)
        r = member_text(spec, "namespace", &ret->spec_namespace, error);
    if (r >= 0)
        r = member_text(spec, "name", &ret->spec_name, error);
    return r < 0 ? r : member_text_if(spec, "uid", &ret->spec_uid, error);
}

static int head_from_value(const struct value *value, struct state_head *ret, struct error *error)
{
    int64_t serial = 0;
    int r = spec_from_value(value_get(value, "spec"), ret, error);

    for (size_t i = 0; r >= 0 && i < N_HEAD_FIELDS; i++) {
        const struct head_field *field = &head_fields[i];

        if (field->presence == HEAD_ELSEWHERE)
            continue;
        if (field->presence == HEAD_REQUIRED && !value_get(value, field->name))
            return state_corrupt(error, "the field \"%s\" is missing", field->name);
        r = head_field_read(field, value, ret, error);
    }
    if (r >= 0)
        r = member_int(value, "serial", &serial, error);
    if (r >= 0 && serial < 0)
        r = state_corrupt(error, "the field \"serial\" is negative");
    ret->serial = (uint64_t)serial;
    return r;
}

static int add_record(struct state *state, const struct value *value, size_t index,
                      struct error *error)
{
    _cleanup_(record_unref_p) const struct record *record = NULL;
    int r = record_from_value(value, &record, error);

    if (r >= 0 && state_find(state, record->id, record->deposed))
        r = state_corrupt(error, "it is there twice");
    if (r < 0) {
        err_wrap(error, "State's resource %zu", index);
        return r;
    }
    state_put(state, record);
    return 0;
}

int state_from_value(const struct value *value, struct state **ret, struct error *error)
{
    static const char *const others[] = {"format", "spec", "serial", "resources", NULL};
    const struct value *resources = value_get(value, "resources");
    _cleanup_(state_free_p) struct state *state = NULL;
    struct state_head head = {0};
    int r = format_check(value, error);

    if (r >= 0)
        r = head_members_check(value, others, error);
    if (r >= 0)
        r = head_from_value(value, &head, error);
    if (r >= 0 && !value_is(resources, VALUE_ARRAY))
        r = state_corrupt(error, "the field \"resources\" is missing");
    if (r < 0) {
        err_wrap(error, "State");
        return r;
    }
    state = state_new(&head);
    for (size_t i = 0; r >= 0 && i < value_count(resources); i++)
        r = add_record(state, value_at(resources, i), i, error);
    if (r < 0)
        return r;
    *ret = TAKE(state);
    return 0;
}
