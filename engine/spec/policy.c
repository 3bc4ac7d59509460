#include <stddef.h>

#include "engine/base/duration.h"
#include "engine/base/str.h"
#include "engine/spec/private.h"

#define MINUTE            INT64_C(60000)
#define DEFAULT_HISTORY   10
#define MOST_HISTORY      1000 /* as in the API's schema */
#define SHORTEST_DURATION 1000 /* ms, as in the API's schema */

/* unreadable: the value that a field gets if it is set but not a boolean. A Spec with such a field
 * is refused. If that Spec is being deleted, the value makes the deletion delete less. */
static const struct {
    const char *name;
    size_t offset;
    bool fallback, unreadable;
} booleans[] = {
    {"suspend", offsetof(struct spec_policy, suspend), false, true},
    {"prune", offsetof(struct spec_policy, prune), true, false},
    {"wait", offsetof(struct spec_policy, wait), true, true},
    {"force", offsetof(struct spec_policy, force), false, false},
};

static const struct {
    const char *name;
    size_t offset;
    int64_t fallback;
} durations[] = {
    {"interval", offsetof(struct spec_policy, interval), 10 * MINUTE},
    {"retryInterval", offsetof(struct spec_policy, retry_interval), MINUTE / 2},
    {"timeout", offsetof(struct spec_policy, timeout), 5 * MINUTE},
};

static const char *const deletion_policies[] = {
    [DELETION_MIRROR_PRUNE] = "MirrorPrune",
    [DELETION_DELETE] = "Delete",
    [DELETION_WAIT_FOR_TERMINATION] = "WaitForTermination",
    [DELETION_ORPHAN] = "Orphan",
    NULL,
};

static bool read_boolean(struct check *check, const struct value *fields, const char *name,
                         bool fallback, bool unreadable)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};

    if (check_is_absent(value))
        return fallback;
    if (!value_is(value, VALUE_BOOL))
        check_problem(check, INVALID_SPEC, &place, "must be a boolean, and is of type %s",
                      value_type_name(value));
    return value_bool(value, unreadable);
}

static int64_t read_duration(struct check *check, const struct value *fields, const char *name,
                             int64_t fallback)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};
    const char *text;
    int64_t ms;

    if (check_is_absent(value))
        return fallback;
    text = check_text(check, value, &place);
    if (!text)
        return fallback;
    ms = duration_parse(text);
    if (ms >= SHORTEST_DURATION)
        return ms;
    if (ms < 0)
        check_problem(check, INVALID_SPEC, &place,
                      "\"%s\" is not a duration, such as 1h30m, 10m or 90s", text);
    else
        check_problem(check, INVALID_SPEC, &place, "\"%s\" is too short: at least 1s", text);
    return fallback;
}

static int64_t read_count(struct check *check, const struct value *fields, const char *name,
                          int64_t most, int64_t fallback)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};
    int64_t count = value_int(value, -1);

    if (check_is_absent(value))
        return fallback;
    if (count >= 0 && count <= most)
        return count;
    check_problem(check, INVALID_SPEC, &place, "must be a number from 0 to %lld", (long long)most);
    return fallback;
}

/* What cannot be read counts as what does less: the Spec is refused, or is being deleted. */
static enum deletion_policy read_deletion(struct check *check, const struct value *fields)
{
    const struct place place = {.key = "deletionPolicy"};

    return (enum deletion_policy)check_choice(check, value_get(fields, place.key), &place,
                                              deletion_policies, DELETION_MIRROR_PRUNE,
                                              DELETION_ORPHAN);
}

static bool read_needs_approval(struct check *check, const struct value *fields)
{
    static const char *const modes[] = {"Automatic", "Manual", NULL};
    const struct place above = {.key = "approval"}, place = {.above = &above, .key = "mode"};

    return check_choice(check, value_path(fields, "approval", "mode", NULL), &place, modes, 0, 1);
}

static void read_remediation(struct check *check, const struct value *fields,
                             struct spec_policy *ret)
{
    static const char *const strategies[] = {"none", "rollback", NULL};
    const struct value *remediation = value_get(fields, "remediation");
    const struct value *retries = value_get(remediation, "retries");
    const struct place above = {.key = "remediation"};
    const struct place place = {.above = &above, .key = "strategy"};
    const struct place number = {.above = &above, .key = "retries"};

    ret->rolls_back =
        check_choice(check, value_get(remediation, "strategy"), &place, strategies, 0, 0);
    ret->retries = check_is_absent(retries) ? 0 : value_int(retries, INT64_MIN);
    if (ret->retries >= -1 && ret->retries <= INT32_MAX)
        return;
    check_problem(check, INVALID_SPEC, &number, "must be a number from -1 to %d", INT32_MAX);
    ret->retries = 0;
}

static enum drift_mode read_drift(struct check *check, const struct value *fields)
{
    static const char *const modes[] = {
        [DRIFT_ENABLED] = "enabled", [DRIFT_WARN] = "warn", [DRIFT_DISABLED] = "disabled", NULL};
    const struct place above = {.key = "driftDetection"}, place = {.above = &above, .key = "mode"};

    return (enum drift_mode)check_choice(check, value_path(fields, "driftDetection", "mode", NULL),
                                         &place, modes, DRIFT_ENABLED, DRIFT_ENABLED);
}

static const char *read_service_account(struct check *check, const struct value *fields)
{
    const struct value *value = value_get(fields, "serviceAccountName");
    const struct place place = {.key = "serviceAccountName"};
    const char *name;

    if (check_is_absent(value))
        return NULL;
    name = check_text(check, value, &place);
    if (!name || str_is_dns_subdomain(name))
        return name;
    check_problem(check, INVALID_SPEC, &place, "\"%s\" is not the name of a service account", name);
    return NULL;
}

void check_policy(struct check *check, const struct value *fields, struct spec_policy *ret)
{
    *ret = (struct spec_policy){
        .needs_approval = read_needs_approval(check, fields),
        .deletion = read_deletion(check, fields),
        .drift = read_drift(check, fields),
        .history_limit =
            read_count(check, fields, "revisionHistoryLimit", MOST_HISTORY, DEFAULT_HISTORY),
        .max_deletions = read_count(check, fields, "maxDeletions", INT32_MAX, -1),
        .service_account = read_service_account(check, fields),
    };
    read_remediation(check, fields, ret);
    check_object_policy(check, fields, &ret->objects);
    for (size_t i = 0; i < ARRAY_SIZE(booleans); i++)
        *(bool *)((char *)ret + booleans[i].offset) = read_boolean(
            check, fields, booleans[i].name, booleans[i].fallback, booleans[i].unreadable);
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        *(int64_t *)((char *)ret + durations[i].offset) =
            read_duration(check, fields, durations[i].name, durations[i].fallback);
}

void spec_policy_read(const struct value *object, struct spec_policy *ret)
{
    struct check unreported = {0};

    check_policy(&unreported, value_get(object, "spec"), ret);
}
