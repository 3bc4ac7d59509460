#include "cli/online/standing.h"

#include "cli/online/objects.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

#define UNSEEN_AFTER \
    20000 /* ms from the last known change of a Spec that the operator has not seen */

/* The time of the latest write of a field that is no status. */
static int64_t changed_at(const struct value *spec)
{
    const struct value *managers = value_path(spec, "metadata", "managedFields", NULL);
    int64_t latest = timestamp_parse(object_text(spec, "", "metadata", "creationTimestamp", NULL));

    for (size_t i = 0; i < value_count(managers); i++) {
        const struct value *entry = value_at(managers, i);
        const char *time = value_get_string(entry, "time");
        int64_t at = time ? timestamp_parse(time) : 0;

        if (!value_get_string(entry, "subresource") && at > latest)
            latest = at;
    }
    return latest;
}

static enum standing_rank rank_of(const struct value *spec, const char *ready, const char *reason)
{
    static const char *const held[] = {"RolledBack", "Destroyed", "Suspended"};

    for (size_t i = 0; i < ARRAY_SIZE(held); i++)
        if (str_equal(reason, held[i]))
            return STANDING_HELD;
    if (value_bool(value_path(spec, "spec", "suspend", NULL), false))
        return STANDING_HELD;
    if (str_equal(reason, "AwaitingApproval"))
        return STANDING_WAITS;
    if (str_equal(ready, "True"))
        return STANDING_READY;
    return str_equal(ready, "Unknown") || condition_is(spec, "Reconciling", "True")
               ? STANDING_BUSY
               : STANDING_FAILED;
}

struct standing standing_of(const struct value *spec, int64_t now)
{
    static const struct {
        const char *mark;
        enum style style;
    } looks[] = {
        [STANDING_FAILED] = {"✗", STYLE_BAD}, [STANDING_UNSEEN] = {"?", STYLE_BAD},
        [STANDING_WAITS] = {"‖", STYLE_WARN}, [STANDING_BUSY] = {"◐", STYLE_WARN},
        [STANDING_HELD] = {"‖", STYLE_WARN},  [STANDING_READY] = {"✓", STYLE_GOOD},
    };
    const struct value *ready = condition_of(spec, "Ready");
    struct standing standing = {
        .ready = object_text(ready, "Unknown", "status", NULL),
        .reason = object_text(ready, "Progressing", "reason", NULL),
        .message = object_text(ready, "", "message", NULL),
        .summary = object_text(spec, "", "status", "summary", NULL),
    };
    int64_t generation = object_int(spec, 0, "metadata", "generation", NULL);
    int64_t seen = object_int(spec, -1, "status", "observedGeneration", NULL);

    standing.rank = rank_of(spec, standing.ready, standing.reason);
    if (seen < generation && now - changed_at(spec) >= UNSEEN_AFTER) {
        standing.rank = STANDING_UNSEEN;
        standing.ready = "Unknown";
        standing.reason = "NotSeen";
        standing.summary = "the operator has not seen its last change";
        standing.message = standing.summary;
    }
    standing.mark = looks[standing.rank].mark;
    standing.style = looks[standing.rank].style;
    return standing;
}
