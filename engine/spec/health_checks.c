/* Objects that the Spec does not own, and that have to be healthy. */

#include "engine/base/limits.h"
#include "engine/spec/private.h"

/* Reports whatever is wrong; the runtime of the type checks what names an object (check.h). */
static void read_one(struct parse *parse, const struct value *value, const struct place *place,
                     struct spec_health_check *ret)
{
    static const struct {
        const char *key;
        bool is_required;
    } parts[] = {{"apiVersion", true}, {"kind", true}, {"namespace", false}, {"name", true}};
    struct check *check = &parse->check;
    const char *texts[ARRAY_SIZE(parts)];
    _cleanup_buf_ struct buf name = BUF_INIT;

    if (!value_is(value, VALUE_OBJECT)) {
        check_problem(check, INVALID_SPEC, place, "must be an object, and is of type %s",
                      value_type_name(value));
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct place at = {.above = place, .key = parts[i].key};
        const struct value *part = value_get(value, parts[i].key);

        texts[i] =
            check_is_absent(part) && !parts[i].is_required ? NULL : check_text(check, part, &at);
        if (!texts[i] && parts[i].is_required)
            return;
        if (texts[i])
            buf_printf(&name, "%s%s", name.length ? ":" : "", texts[i]);
    }
    ret->id = arena_str(&parse->spec->arena, name.data);
    ret->attributes = value_pack("{s:s, s:s, s:{s:s?, s:s}}", "apiVersion", texts[0], "kind",
                                 texts[1], "metadata", "namespace", texts[2], "name", texts[3]);
}

void parse_health_checks(struct parse *parse, const struct value *fields)
{
    const struct value *list = value_get(fields, "healthChecks");
    const struct place in = {.key = "healthChecks"};
    struct check *check = &parse->check;
    struct spec *spec = parse->spec;

    if (check_is_absent(list))
        return;
    if (!value_is(list, VALUE_ARRAY)) {
        check_problem(check, INVALID_SPEC, &in, "must be a list, and is of type %s",
                      value_type_name(list));
        return;
    }
    if (value_count(list) > LIMIT_HEALTH_CHECKS) {
        check_problem(check, INVALID_SPEC, &in, "holds %zu objects, %d at most", value_count(list),
                      LIMIT_HEALTH_CHECKS);
        return;
    }
    spec->n_health_checks = value_count(list);
    spec->health_checks =
        ARENA_ARRAY(&spec->arena, struct spec_health_check, spec->n_health_checks);
    for (size_t i = 0; i < spec->n_health_checks; i++) {
        const struct place at = {.above = &in, .index = i};

        read_one(parse, value_at(list, i), &at, &spec->health_checks[i]);
    }
}

/* Flux's, in another language. */
void parse_health_check_exprs(struct parse *parse, const struct value *fields)
{
    const struct place in = {.key = "healthCheckExprs"};
    const struct value *list = value_get(fields, in.key);

    if (!check_is_absent(list) && value_count(list))
        check_problem(
            &parse->check, UNSUPPORTED, &in,
            "CEL is not run by the operator. Write the check in Lua, as \"health.lua\" of "
            "the resource's extensions.healthPolicy, or for a kind in the cluster "
            "(docs/health.md): for _, c in ipairs(obj.status and obj.status.conditions "
            "or {}) do if c.type == \"Ready\" and c.status == \"True\" then return "
            "{status = \"Healthy\"} end end return {status = \"Progressing\"}");
}
