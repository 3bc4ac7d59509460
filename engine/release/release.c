#include "engine/release/release.h"

#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"

#define NAME_BYTES 253
/* Hexadecimal digits of the hash that replaces the end of a long name. */
#define NAME_HASH 10

static const char *const operations[] = {
    [RELEASE_APPLY] = "Apply",
    [RELEASE_PREVIEW] = "Preview",
    [RELEASE_DESTROY] = "Destroy",
    [RELEASE_ROLLBACK] = "Rollback",
};

static const char *const phases[] = {
    [PHASE_NONE] = "",
    [PHASE_GENERATING] = "generating",
    [PHASE_PREVIEWING] = "previewing",
    [PHASE_AWAITING_APPROVAL] = "awaitingApproval",
    [PHASE_APPLYING] = "applying",
    [PHASE_DESTROYING] = "destroying",
    [PHASE_ROLLING_BACK] = "rollingBack",
    [PHASE_SUCCEEDED] = "succeeded",
    [PHASE_FAILED] = "failed",
    [PHASE_CANCELLED] = "cancelled",
};

/* The phase in which each operation does its work; PHASE_NONE: a preview has none. */
static const enum release_phase working[] = {
    [RELEASE_APPLY] = PHASE_APPLYING,
    [RELEASE_PREVIEW] = PHASE_NONE,
    [RELEASE_DESTROY] = PHASE_DESTROYING,
    [RELEASE_ROLLBACK] = PHASE_ROLLING_BACK,
};

enum release_phase release_working_phase(enum release_operation operation)
{
    return working[operation];
}

const char *release_operation_name(enum release_operation operation)
{
    return operations[operation];
}

bool release_operation_parse(const char *name, enum release_operation *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
        if (name && str_equal(name, operations[i])) {
            *ret = (enum release_operation)i;
            return true;
        }
    return false;
}

const char *release_phase_name(enum release_phase phase)
{
    return phases[phase];
}

bool release_phase_parse(const char *name, enum release_phase *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(phases); i++)
        if (name && str_equal(name, phases[i])) {
            *ret = (enum release_phase)i;
            return true;
        }
    return false;
}

bool release_phase_is_terminal(enum release_phase phase)
{
    return phase == PHASE_SUCCEEDED || phase == PHASE_FAILED || phase == PHASE_CANCELLED;
}

/* The enum has the phases in their order. Each operation has one of the three working phases. */
bool release_phase_may_follow(enum release_operation operation, enum release_phase from,
                              enum release_phase to)
{
    enum release_phase work = working[operation];
    bool is_work = to >= PHASE_APPLYING && to <= PHASE_ROLLING_BACK;

    if (release_phase_is_terminal(from) || to <= from)
        return false;
    if (is_work || to == PHASE_AWAITING_APPROVAL)
        return work != PHASE_NONE && (to == work || !is_work);
    return true;
}

int64_t release_next_revision(int64_t highest_in_state, int64_t highest_release)
{
    int64_t highest = highest_in_state > highest_release ? highest_in_state : highest_release;

    return highest < 0 ? 1 : highest + 1;
}

bool release_revision_is_valid(int64_t revision)
{
    return revision >= 1 && revision <= RELEASE_REVISION_MAX;
}

bool release_revision_parse(const char *text, int64_t *ret)
{
    int64_t revision = 0;

    if (!text || *text == '0' || !str_to_int64(text, &revision) ||
        !release_revision_is_valid(revision))
        return false;
    *ret = revision;
    return true;
}

const char *release_name(struct arena *arena, const char *spec_name, int64_t revision)
{
    const char *name = arena_printf(arena, "%s-%lld", spec_name, (long long)revision);
    const char *suffix = arena_printf(arena, "-%lld", (long long)revision);
    char hash[HASH_HEX_SIZE];
    size_t kept;

    if (strlen(name) <= NAME_BYTES)
        return name;
    hash_hex(spec_name, strlen(spec_name), hash);
    kept = NAME_BYTES - strlen(suffix) - NAME_HASH - 1;
    return arena_printf(arena, "%.*s-%.*s%s", (int)kept, spec_name, NAME_HASH, hash, suffix);
}
