/*
 * An object as the Spec wants it: with the Spec's `commonMetadata`, without what a controller
 * writes by itself, and without what is ignored (ignore.h).
 */
#pragma once

#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/session/session.h"

struct desired {
    struct runtime_target target; /* its attributes: as the object is applied, and recorded */
    const struct value *initial;  /* as it is created: with what is ignored from then on */
    struct ignored ignored;
};

/* target: with attributes; borrowed. */
void desired_init(const struct runtime_session *session, const struct runtime_target *target,
                  struct desired *ret);
void desired_done(struct desired *desired);

/* What is ignored in the object with these attributes. *ret: ignored_done(). */
void kube_find_ignored(const struct runtime_session *session, const struct value *attributes,
                       struct ignored *ret);

/* ERR_INVALID InvalidSpec: something of the object is ignored that is inside of one of our fields,
 * of which the API server knows no parts. own: the fields that an apply of it gives us; or NULL. */
int kube_check_ignored(const struct ignored *ignored, const struct value *object,
                       const struct value *own, struct error *error);
