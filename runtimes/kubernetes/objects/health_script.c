#include "runtimes/kubernetes/objects/health_script.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/selector.h"
#include "runtimes/lua/script.h"

#define LUA_KEY "health.lua"
#define KCL_KEY "health.kcl"

/* Texts of a Spec that are compiled when it is read. Others are compiled when they are run. */
#define MOST_COMPILED 256

#define PAGE "docs/health.md"

#define ALL_KEY    "resource.customizations"
#define ONE_PREFIX "resource.customizations.health."

/* ---- A resource's own ---- */

const struct value *health_script_own(const struct value *extensions)
{
    const struct value *text = value_path(extensions, "healthPolicy", LUA_KEY, NULL);

    return value_is(text, VALUE_STRING) ? text : NULL;
}

static void check_script(struct check *check, const struct value *value, const struct place *place,
                         struct strmap *known)
{
    struct error error = {0};
    size_t length;
    const char *text = value_string_n(value, &length);

    if (!value_is(value, VALUE_STRING))
        check_problem(check, INVALID_SPEC, place,
                      "must be a text, a script in Lua, and is of type %s", value_type_name(value));
    else if (ref_is(value))
        check_problem(check, INVALID_SPEC, place, "must be written out: it cannot be a reference");
    else if (strmap_get_n(known, text, length) || known->count >= MOST_COMPILED)
        return;
    else if (script_check(text, length, &error) < 0)
        check_problem(check, INVALID_SPEC, place, "%s", error.message);
    else
        strmap_put_n(known, text, length, known);
}

static void check_other(struct check *check, const char *key, bool has_lua,
                        const struct place *place)
{
    if (!str_equal(key, KCL_KEY))
        check_problem(check, INVALID_SPEC, place, "is unknown; a health check is " LUA_KEY);
    else if (!has_lua)
        check_problem(check, UNSUPPORTED, place,
                      "KCL is not run by the operator: write the check in Lua beside it, as "
                      "\"" LUA_KEY "\" (" PAGE "); then this is left alone");
}

void health_script_check(struct check *check, const struct value *policy, const struct place *place,
                         struct strmap *known)
{
    const struct value *text = value_get(policy, LUA_KEY);

    if (!value_is(policy, VALUE_OBJECT)) {
        check_problem(check, INVALID_SPEC, place, "must be an object, and is of type %s",
                      value_type_name(policy));
        return;
    }
    for (size_t i = 0; i < value_count(policy); i++) {
        const struct place at = {.above = place, .key = value_member_key(policy, i, NULL)};

        if (str_equal(at.key, LUA_KEY))
            check_script(check, text, &at, known);
        else
            check_other(check, at.key, !check_is_absent(text), &at);
    }
}

/* ---- Of the cluster ---- */

struct reading {
    struct health_script *scripts;
    size_t n, capacity;
    struct buf problems;
};

static void PRINTF_LIKE(2, 3) tell(struct reading *reading, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    buf_printf(&reading->problems, "%s%s", reading->problems.length ? "; " : "", text);
}

/* Takes `of` over. */
static void add(struct reading *reading, char *of, const struct value *value)
{
    struct error error = {0};
    size_t length;
    const char *text = value_string_n(value, &length);

    if (!value_is(value, VALUE_STRING))
        tell(reading, "%s: is no text", of);
    else if (script_check(text, length, &error) < 0)
        tell(reading, "%s: %s", of, error.message);
    /* One that is wrong stays: what it is for is Unknown, and not healthy by another rule. */
    reading->scripts =
        mem_grow(reading->scripts, reading->n, &reading->capacity, sizeof(*reading->scripts));
    reading->scripts[reading->n++] = (struct health_script){of, value_ref(value)};
}

/* "GROUP_KIND", "KIND": no group has an underscore, and no kind. */
static void add_one(struct reading *reading, const char *name, const struct value *text)
{
    char *of = str_new(name), *mark = strrchr(of, '_');

    if (mark)
        *mark = '/';
    add(reading, of, text);
}

static void add_all(struct reading *reading, const struct value *value)
{
    _cleanup_value_ const struct value *all = NULL;
    struct error error = {0};
    size_t length;
    const char *text = value_string_n(value, &length);

    if (!text || yaml_read(text, length, &all, &error) < 0) {
        tell(reading, ALL_KEY ": %s", text ? error.message : "is no text");
        return;
    }
    for (size_t i = 0; i < value_count(all); i++) {
        const struct value *script = value_get(value_member(all, i), LUA_KEY);

        if (script)
            add(reading, str_new(value_member_key(all, i, NULL)), script);
    }
}

struct health_script *health_scripts_read(const struct value *config_map, size_t *ret_n,
                                          char **ret_problem)
{
    const struct value *data = value_get(config_map, "data");
    struct reading reading = {.problems = BUF_INIT};

    for (size_t i = 0; i < value_count(data); i++) {
        const char *key = value_member_key(data, i, NULL);

        if (str_equal(key, ALL_KEY))
            add_all(&reading, value_member(data, i));
        else if (str_has_prefix(key, ONE_PREFIX))
            add_one(&reading, key + strlen(ONE_PREFIX), value_member(data, i));
    }
    *ret_n = reading.n;
    *ret_problem = reading.problems.length ? buf_take(&reading.problems) : NULL;
    return reading.scripts;
}

void health_scripts_free(struct health_script *scripts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(scripts[i].of);
        value_unref(scripts[i].text);
    }
    free(scripts);
}

size_t health_script_rank(const struct health_script *script, const struct object_ref *ref)
{
    size_t length;
    const char *group = api_group(ref->api_version, &length);
    _cleanup_free_ char *kind =
        str_printf("%.*s%s%s", (int)length, group, length ? "/" : "", ref->kind);

    if (str_equal(script->of, kind))
        return SIZE_MAX;
    return strchr(script->of, '*') && pattern_matches(script->of, kind) ? strlen(script->of) : 0;
}

/* ---- A verdict ---- */

static const struct {
    enum health_status status;
    const char *words; /* of a message that says nothing else */
} meanings[] = {
    [SCRIPT_HEALTHY] = {HEALTH_CURRENT, "is healthy"},
    [SCRIPT_PROGRESSING] = {HEALTH_PROGRESSING, "Progressing"},
    [SCRIPT_DEGRADED] = {HEALTH_FAILED, "Degraded"},
    [SCRIPT_SUSPENDED] = {HEALTH_CURRENT, "is suspended"},
    [SCRIPT_MISSING] = {HEALTH_PROGRESSING, "Missing"},
    [SCRIPT_UNKNOWN] = {HEALTH_UNKNOWN, "Unknown"},
};

static bool is_seen(const struct value *object)
{
    int64_t generation = value_int(value_path(object, "metadata", "generation", NULL), 0);

    return value_int(value_path(object, "status", "observedGeneration", NULL), generation) ==
           generation;
}

static void set_verdict(const struct script_verdict *verdict, const struct value *object,
                        struct health *ret)
{
    const char *words = meanings[verdict->status].words;
    const char *message = verdict->message;

    ret->may_wait_for_consumer = false;
    if (verdict->status == SCRIPT_DEGRADED && !is_seen(object))
        health_set(ret, HEALTH_PROGRESSING, "its change is not observed yet; before it: %s",
                   *message ? message : words);
    else
        health_set(ret, meanings[verdict->status].status, "%s%s%s", words, *message ? ": " : "",
                   message);
}

void health_script_judge(const struct value *text, const struct value *object, int64_t (*cpu)(void),
                         struct health *ret)
{
    struct script_verdict verdict;
    struct error error = {0};
    size_t length = 0;
    const char *script = value_string_n(text, &length);

    if (ret->status == HEALTH_TERMINATING || !value_is(object, VALUE_OBJECT))
        return;
    if (!script)
        health_set(ret, HEALTH_UNKNOWN, "its health check is no text");
    else if (script_judge(script, length, object, cpu, &verdict, &error) < 0)
        health_set(ret, HEALTH_UNKNOWN, "its health check failed: %s", error.message);
    else if (verdict.status != SCRIPT_NO_OPINION)
        set_verdict(&verdict, object, ret);
}
