/*
 * Judges objects for the tests of this folder. A line of the input is JSON: {"object": YAML}, and
 * "script", a health check in Lua, or none for the built-in rules. A line of the output is the
 * answer: {"status", "message", "error"}.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/objects/health.h"
#include "runtimes/lua/script.h"

static const char *const names[] = {
    [HEALTH_UNKNOWN] = "Unknown",         [HEALTH_PROGRESSING] = "InProgress",
    [HEALTH_CURRENT] = "Current",         [HEALTH_FAILED] = "Failed",
    [HEALTH_TERMINATING] = "Terminating",
};

static const struct value *by_script(const struct value *script, const struct value *object,
                                     struct error *error)
{
    struct script_verdict verdict;
    size_t length;
    const char *text = value_string_n(script, &length);

    if (script_judge(text, length, object, NULL, &verdict, error) < 0)
        return NULL;
    return value_pack("{s:s, s:s}", "status", script_status_name(verdict.status), "message",
                      verdict.message);
}

static const struct value *by_rules(const struct value *object)
{
    struct health health;

    kube_health(object, &health);
    return value_pack("{s:s, s:s}", "status", names[health.status], "message", health.message);
}

static const struct value *answer(const char *line, size_t length, struct error *error)
{
    _cleanup_value_ const struct value *asked = NULL, *object = NULL;
    const struct value *script;
    const char *text;

    if (json_read(line, length, &asked, error) < 0)
        return NULL;
    text = value_string_n(value_get(asked, "object"), &length);
    if (yaml_read(text, length, &object, error) < 0)
        return NULL;
    script = value_get(asked, "script");
    return value_is(script, VALUE_STRING) ? by_script(script, object, error) : by_rules(object);
}

int main(void)
{
    _cleanup_free_ char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    while ((length = getline(&line, &capacity, stdin)) > 0) {
        struct error error = {0};
        _cleanup_value_ const struct value *said = answer(line, (size_t)length, &error);
        _cleanup_buf_ struct buf out = BUF_INIT;

        if (!said)
            said = value_pack("{s:s}", "error", error.message);
        json_write(&out, said, JSON_COMPACT);
        puts(out.data);
    }
    return 0;
}
