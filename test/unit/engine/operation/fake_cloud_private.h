/*
 * Shared by fake_cloud_ops.c and fake_cloud_plan.c. Not to be included beside fake_objects.h, which
 * has a session of its own. All with the world's lock held.
 */
#pragma once

#include "test/unit/engine/operation/fake_cloud.h"

const struct value *fake_without_marks(const struct value *value);

#define STEP_ALIVE 0x57e9

struct runtime_session {
    struct fake_cloud *cloud;
    unsigned refs;
};

struct cloud_step {
    struct runtime_step base;
    unsigned alive; /* STEP_ALIVE */
    struct runtime_session *session;
    char *id, *object, *thing_id; /* object: which of the resource's, for calls */
    bool is_sent;
};

/* A memory for a thing, which is easily altered on the way. A reference. */
const struct value *fake_cloud_memory(const char *id, unsigned serial);
/* A resource may have several objects, one call about each at a time: which one the target is. */
char *fake_cloud_object(const struct runtime_target *target);
struct cloud_step *fake_cloud_step_new(struct runtime_session *session,
                                       const struct runtime_target *target,
                                       enum plan_action action, const struct fake_thing *thing);
/* A thing as it is seen, with what is computed. A reference. */
const struct value *fake_cloud_whole(const struct fake_thing *thing);
/* *ret: the target's thing; NULL: it is not there. */
int fake_cloud_look_at(struct fake_cloud *cloud, const struct runtime_target *target,
                       struct fake_thing **ret, struct error *error);

int fake_cloud_plan(struct runtime_session *session, const struct runtime_target *target,
                    const struct observation *hint, const struct runtime_call *call,
                    struct runtime_step **ret, struct error *error);
