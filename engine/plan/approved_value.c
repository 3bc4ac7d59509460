#include "engine/plan/approved_value.h"

#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/plan/approved_private.h"
#include "engine/state/state_value.h"

#define FORMAT_WITHOUT_SHOWN 1 /* no creation shows anything: there is no seal */

/* ---- Writing ---- */

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

static const struct value *step_to_value(const struct approved_step *step)
{
    _cleanup_value_ const struct value *yes = value_pack("b", 1);

    return value_pack(
        "{s:s, s:s, s:s, s:v?, s:v?, s:v?, s:s?, s:s?, s:v?, s:v?, s:s?, s:v?}", "id", step->id,
        "type", step->type, "action", plan_action_name(step->action), "leaves",
        step->leaves ? yes : NULL, "createFirst", step->create_first ? yes : NULL, "hasUnknown",
        step->has_unknown ? yes : NULL, "made", text_or_null(step->halves.made), "removed",
        text_or_null(step->halves.removed), "unknown", step->unknown, "secrets", step->secrets,
        "shown", text_or_null(step->shown.hex), "assigned", step->shown.assigned);
}

const struct value *approved_plan_to_value(const struct approved_plan *approved)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *steps = NULL;
    char digest[HASH_HEX_SIZE], seal[HASH_HEX_SIZE];
    bool is_sealed = approved_plan_seal(approved, seal);

    approved_plan_digest(approved, digest);
    value_begin_array(b);
    for (size_t i = 0; i < approved->n_steps; i++) {
        _cleanup_value_ const struct value *step = step_to_value(&approved->steps[i]);

        if (!step)
            return NULL;
        value_add_copy(b, step);
    }
    value_end_array(b);
    steps = value_finish(b);
    return steps ? value_pack("{s:i, s:s, s:s?, s:v}", "format",
                              is_sealed ? APPROVED_FORMAT : FORMAT_WITHOUT_SHOWN, "digest", digest,
                              "seal", is_sealed ? seal : NULL, "steps", steps)
                 : NULL;
}

/* ---- Reading ---- */

static int corrupt(struct error *error, const char *how)
{
    return err_set(error, ERR_CORRUPT, "PlanCorrupt", "the approved plan is damaged: %s", how);
}

/* Lower-case hexadecimal, or missing: "". */
static int read_digest(const struct value *object, const char *key, char ret_hex[HASH_HEX_SIZE],
                       struct error *error)
{
    const char *text = NULL;
    int r = member_text_if(object, key, &text, error);

    if (r >= 0 && text && !hash_is_hex(text))
        return state_corrupt(error, "a digest is none");
    str_copy(ret_hex, HASH_HEX_SIZE, text ? text : "");
    return r;
}

static int read_pointers(const struct value *object, const char *key, const struct value **ret,
                         struct error *error)
{
    const struct value *pointers = value_get(object, key);

    if (!pointers)
        return 0;
    if (!value_is(pointers, VALUE_ARRAY) || !value_count(pointers))
        return state_corrupt(error, "the unknown paths are no list");
    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *path = value_string(value_at(pointers, i));

        if (!path || (*path && *path != '/'))
            return state_corrupt(error, "an unknown path is none");
    }
    *ret = value_ref(pointers);
    return 0;
}

static int read_texts(const struct value *object, const char *key, const struct value **ret,
                      struct error *error)
{
    const struct value *texts = value_get(object, key);

    if (!texts)
        return 0;
    if (!value_is(texts, VALUE_ARRAY) || !value_count(texts))
        return state_corrupt(error, "the secrets are no list");
    for (size_t i = 0; i < value_count(texts); i++)
        if (!value_string(value_at(texts, i)))
            return state_corrupt(error, "a secret is no text");
    *ret = value_ref(texts);
    return 0;
}

/* What an approved step of each action consists of. */
static const struct shape {
    bool is_step, leaves, stays, makes, removes;
} shapes[] = {
    [PLAN_NONE] = {0},
    [PLAN_UNCHANGED] = {0},
    [PLAN_READ] = {.is_step = true, .stays = true, .makes = true},
    [PLAN_CREATE] = {.is_step = true, .stays = true, .makes = true},
    [PLAN_ADOPT] = {.is_step = true, .stays = true, .makes = true},
    [PLAN_UPDATE] = {.is_step = true, .stays = true, .makes = true},
    [PLAN_REPLACE] = {.is_step = true, .stays = true, .makes = true, .removes = true},
    [PLAN_DELETE] = {.is_step = true, .leaves = true, .removes = true},
    [PLAN_FORGET] = {.is_step = true, .leaves = true, .removes = true},
    [PLAN_DEFERRED] = {.is_step = true, .leaves = true, .stays = true},
    [PLAN_UNKNOWN] = {0},
};

static int check_shape(const struct approved_step *step, struct error *error)
{
    const struct shape *shape = &shapes[step->action];

    if (!shape->is_step || !(step->leaves ? shape->leaves : shape->stays) ||
        shape->makes != (*step->halves.made != '\0') ||
        shape->removes != (*step->halves.removed != '\0') ||
        ((step->unknown || step->has_unknown || step->secrets) && !shape->makes) ||
        (*step->shown.hex && step->action != PLAN_CREATE) ||
        (step->shown.assigned && !*step->shown.hex) ||
        (step->create_first && step->action != PLAN_REPLACE))
        return state_corrupt(error, "a step does not go with its action");
    return 0;
}

static int read_step(struct approved_plan *approved, const struct value *value, struct error *error)
{
    static const char *const known[] = {
        "id",      "type",    "action", "leaves",   "createFirst", "hasUnknown", "made",
        "removed", "unknown", "shown",  "assigned", "secrets",     NULL};
    struct approved_step *step = &approved->steps[approved->n_steps++];
    const char *id = "", *type = "";
    int r = members_check(value, known, error);

    if (r >= 0)
        r = member_text(value, "id", &id, error);
    if (r >= 0)
        r = member_text(value, "type", &type, error);
    if (r >= 0 && strlen(id) > LIMIT_ID_BYTES)
        r = state_corrupt(error, "an id is too long");
    if (r >= 0 && !plan_action_parse(value_get_string(value, "action"), &step->action))
        r = state_corrupt(error, "an action is none that this version knows");
    if (r >= 0)
        r = member_flag_if(value, "leaves", &step->leaves, error);
    if (r >= 0)
        r = member_flag_if(value, "createFirst", &step->create_first, error);
    if (r >= 0)
        r = member_flag_if(value, "hasUnknown", &step->has_unknown, error);
    if (r >= 0)
        r = read_digest(value, "made", step->halves.made, error);
    if (r >= 0)
        r = read_digest(value, "removed", step->halves.removed, error);
    if (r >= 0)
        r = read_pointers(value, "unknown", &step->unknown, error);
    if (r >= 0)
        r = read_texts(value, "secrets", &step->secrets, error);
    if (r >= 0)
        r = read_digest(value, "shown", step->shown.hex, error);
    if (r >= 0)
        r = read_pointers(value, "assigned", &step->shown.assigned, error);
    if (r < 0)
        return r;
    step->id = arena_str(&approved->arena, id);
    step->type = arena_str(&approved->arena, type);
    return check_shape(step, error);
}

/* stored: the digest in the value; digest: the one that was approved. */
static int check_digest(const struct approved_plan *approved, const char *stored,
                        const char *digest, struct error *error)
{
    char now[HASH_HEX_SIZE];

    approved_plan_digest(approved, now);
    if (!str_equal(now, stored))
        return corrupt(error, "it was changed, or made with another key, or by another version of "
                              "the operator");
    if (!str_equal(now, digest))
        return corrupt(error, "it is not the plan that was approved");
    return 0;
}

/* seal: NULL: there is none. */
static int check_seal(const struct approved_plan *approved, int64_t format, const char *seal,
                      struct error *error)
{
    char now[HASH_HEX_SIZE];
    bool is_sealed = approved_plan_seal(approved, now);

    if (is_sealed != (format == APPROVED_FORMAT) || (is_sealed ? !str_equal(now, seal) : !!seal))
        return corrupt(error, "what its creations show was changed");
    return 0;
}

int approved_plan_from_value(const struct value *value, const void *key, size_t key_length,
                             const char *digest, struct approved_plan **ret, struct error *error)
{
    static const char *const known[] = {"format", "digest", "seal", "steps", NULL};
    const struct value *steps = value_get(value, "steps");
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;
    int64_t format = value_int(value_get(value, "format"), 0);
    struct error problem = {0};
    int r;

    if (format > APPROVED_FORMAT)
        return err_set(error, ERR_UNSUPPORTED, NULL,
                       "the approved plan is of format %lld, which this version does not read",
                       (long long)format);
    if (format < FORMAT_WITHOUT_SHOWN || !value_is(steps, VALUE_ARRAY))
        return corrupt(error, "it is no such plan");
    r = members_check(value, known, &problem);
    approved = approved_plan_make((struct digest_key){key, key_length}, value_count(steps));
    for (size_t i = 0; r >= 0 && i < value_count(steps); i++)
        r = read_step(approved, value_at(steps, i), &problem);
    if (r < 0)
        return corrupt(error, problem.message);
    approved_plan_sort(approved);
    r = check_digest(approved, value_get_string(value, "digest"), digest, error);
    if (r >= 0)
        r = check_seal(approved, format, value_get_string(value, "seal"), error);
    if (r < 0)
        return r;
    *ret = TAKE(approved);
    return 0;
}
