#include "engine/plan/approved_value.h"

#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/plan/approved_private.h"

#define FORMAT_WITHOUT_SHOWN 1

/* ---- Writing ---- */

static void add_text_if(struct value_builder *b, const char *key, const char *text)
{
    if (!*text)
        return;
    value_key(b, key);
    value_add_string(b, text);
}

static void add_flag_if(struct value_builder *b, const char *key, bool flag)
{
    if (!flag)
        return;
    value_key(b, key);
    value_add_bool(b, true);
}

static void add_pointers_if(struct value_builder *b, const char *key, const struct value *pointers)
{
    if (!pointers)
        return;
    value_key(b, key);
    value_add(b, pointers);
}

static void add_step(struct value_builder *b, const struct approved_step *step)
{
    value_begin_object(b);
    add_text_if(b, "id", step->id);
    add_text_if(b, "type", step->type);
    add_text_if(b, "action", plan_action_name(step->action));
    add_flag_if(b, "leaves", step->leaves);
    add_flag_if(b, "createFirst", step->create_first);
    add_flag_if(b, "hasUnknown", step->has_unknown);
    add_text_if(b, "made", step->halves.made);
    add_text_if(b, "removed", step->halves.removed);
    add_pointers_if(b, "unknown", step->unknown);
    add_pointers_if(b, "secrets", step->secrets);
    add_text_if(b, "shown", step->shown.hex);
    add_pointers_if(b, "assigned", step->shown.assigned);
    value_end_object(b);
}

const struct value *approved_plan_to_value(const struct approved_plan *approved)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    char digest[HASH_HEX_SIZE], seal[HASH_HEX_SIZE];
    bool is_sealed = approved_plan_seal(approved, seal);

    approved_plan_digest(approved, digest);
    value_begin_object(b);
    value_key(b, "format");
    value_add_int(b, is_sealed ? APPROVED_FORMAT : FORMAT_WITHOUT_SHOWN);
    add_text_if(b, "digest", digest);
    add_text_if(b, "seal", is_sealed ? seal : "");
    value_key(b, "steps");
    value_begin_array(b);
    for (size_t i = 0; i < approved->n_steps; i++)
        add_step(b, &approved->steps[i]);
    value_end_array(b);
    value_end_object(b);
    return value_finish(b);
}

/* ---- Reading ---- */

static int corrupt(struct error *error, const char *how)
{
    return err_set(error, ERR_CORRUPT, "PlanCorrupt", "the approved plan is damaged: %s", how);
}

static int check_members(const struct value *object, const char *const *known, struct error *error)
{
    if (!value_is(object, VALUE_OBJECT))
        return corrupt(error, "an object is missing");
    for (size_t i = 0; i < value_count(object); i++) {
        const char *const *name = known;
        size_t length = 0;
        const char *key = value_member_key(object, i, &length);

        while (*name && (strlen(*name) != length || memcmp(*name, key, length) != 0))
            name++;
        if (!*name)
            return corrupt(error, "it has a field that this version does not know");
    }
    return 0;
}

/* Not empty, and without NUL; NULL: it is missing, or no such text. */
static const char *text_of(const struct value *object, const char *key)
{
    size_t length = 0;
    const char *text = value_string_n(value_get(object, key), &length);

    return text && length && strlen(text) == length ? text : NULL;
}

/* Lower-case hexadecimal, or missing: "". */
static int read_digest(const struct value *object, const char *key, char ret_hex[HASH_HEX_SIZE],
                       struct error *error)
{
    const char *text = text_of(object, key);

    if (!value_get(object, key)) {
        ret_hex[0] = '\0';
        return 0;
    }
    if (!text || strlen(text) != HASH_HEX_SIZE - 1 ||
        strspn(text, "0123456789abcdef") != HASH_HEX_SIZE - 1)
        return corrupt(error, "a digest is none");
    memcpy(ret_hex, text, HASH_HEX_SIZE);
    return 0;
}

static int read_flag(const struct value *object, const char *key, bool *ret, struct error *error)
{
    const struct value *flag = value_get(object, key);

    if (flag && !value_is(flag, VALUE_BOOL))
        return corrupt(error, "a flag is none");
    *ret = value_bool(flag, false);
    return 0;
}

static int read_pointers(const struct value *object, const char *key, const struct value **ret,
                         struct error *error)
{
    const struct value *pointers = value_get(object, key);

    if (!pointers)
        return 0;
    if (!value_is(pointers, VALUE_ARRAY) || !value_count(pointers))
        return corrupt(error, "the unknown paths are no list");
    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *path = value_string(value_at(pointers, i));

        if (!path || (*path && *path != '/'))
            return corrupt(error, "an unknown path is none");
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
        return corrupt(error, "the secrets are no list");
    for (size_t i = 0; i < value_count(texts); i++)
        if (!value_string(value_at(texts, i)))
            return corrupt(error, "a secret is no text");
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
        return corrupt(error, "a step does not go with its action");
    return 0;
}

static int read_step(struct approved_plan *approved, const struct value *value, struct error *error)
{
    static const char *const known[] = {
        "id",      "type",    "action", "leaves",   "createFirst", "hasUnknown", "made",
        "removed", "unknown", "shown",  "assigned", "secrets",     NULL};
    struct approved_step *step = &approved->steps[approved->n_steps++];
    const char *id = text_of(value, "id"), *type = text_of(value, "type");
    int r = check_members(value, known, error);

    if (r >= 0 && (!id || strlen(id) > LIMIT_ID_BYTES || !type))
        r = corrupt(error, "a step does not say what it is of");
    if (r >= 0 && !plan_action_parse(text_of(value, "action"), &step->action))
        r = corrupt(error, "an action is none that this version knows");
    if (r >= 0)
        r = read_flag(value, "leaves", &step->leaves, error);
    if (r >= 0)
        r = read_flag(value, "createFirst", &step->create_first, error);
    if (r >= 0)
        r = read_flag(value, "hasUnknown", &step->has_unknown, error);
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
    int r = 0;

    if (format > APPROVED_FORMAT)
        return err_set(error, ERR_UNSUPPORTED, NULL,
                       "the approved plan is of format %lld, which this version does not read",
                       (long long)format);
    if (format < FORMAT_WITHOUT_SHOWN || !value_is(steps, VALUE_ARRAY))
        return corrupt(error, "it is no such plan");
    r = check_members(value, known, error);
    approved = approved_plan_make((struct digest_key){key, key_length}, value_count(steps));
    for (size_t i = 0; r >= 0 && i < value_count(steps); i++)
        r = read_step(approved, value_at(steps, i), error);
    if (r < 0)
        return r;
    approved_plan_sort(approved);
    r = check_digest(approved, text_of(value, "digest"), digest, error);
    if (r >= 0)
        r = check_seal(approved, format, text_of(value, "seal"), error);
    if (r < 0)
        return r;
    *ret = TAKE(approved);
    return 0;
}
