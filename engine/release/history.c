#include "engine/release/history.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"

struct release_record *release_record_new(const struct spec_key *spec, int64_t revision)
{
    struct release_record *record = NEW(struct release_record);

    record->head.spec = (struct spec_key){str_new(spec->namespace_name), str_new(spec->name)};
    record->head.revision = revision;
    record->own_generation = 1;
    return record;
}

static void replace(const char **text, const char *with)
{
    char *copy = str_new(with);

    free((char *)(uintptr_t)*text);
    *text = copy;
}

void release_record_set_spec_uid(struct release_record *record, const char *uid)
{
    replace(&record->head.spec_uid, uid);
}

void release_record_set_spec_digest(struct release_record *record, const char *digest)
{
    replace(&record->head.spec_digest, digest);
}

void release_approval_done(struct release_approval *approval)
{
    free(approval->plan);
    free(approval->approver);
    free(approval->manager);
    free(approval->time);
    *approval = (struct release_approval){0};
}

void release_approval_copy(struct release_approval *to, const struct release_approval *from)
{
    release_approval_done(to);
    *to =
        (struct release_approval){str_new(from->plan), str_new(from->approver),
                                  str_new(from->manager), str_new(from->time), from->covers_unseen};
}

void release_rejection_done(struct release_rejection *rejection)
{
    free(rejection->reason);
    free(rejection->approver);
    *rejection = (struct release_rejection){0};
}

void release_record_free(struct release_record *record)
{
    if (!record)
        return;
    free((char *)(uintptr_t)record->head.spec_uid);
    free((char *)(uintptr_t)record->head.spec_digest);
    value_unref(record->head.resources);
    free((char *)(uintptr_t)record->head.spec.namespace_name);
    free((char *)(uintptr_t)record->head.spec.name);
    release_approval_done(&record->approval);
    release_rejection_done(&record->rejection);
    value_unref(record->status);
    free(record);
}

enum release_phase release_status_phase(const struct value *status)
{
    enum release_phase phase = PHASE_NONE;

    release_phase_parse(value_get_string(status, "phase"), &phase);
    return phase;
}
