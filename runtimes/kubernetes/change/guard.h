/*
 * The deletion guard: refuses to delete a Namespace or a CustomResourceDefinition that contains
 * objects of others.
 */
#pragma once

#include "runtimes/kubernetes/session/session.h"

/* Checks that deleting an object would not delete objects of others with it. */
int kube_may_delete(struct runtime_session *session, const struct value *attributes,
                    const struct runtime_call *call, struct error *error);
