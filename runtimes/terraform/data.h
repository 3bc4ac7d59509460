/*
 * Data sources: resources that are only read. Their type is written "data.TYPE", as in
 * "data.aws_ami", in the id or in `resourceType`, and so are their schemas found (provider.h).
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/terraform/session.h"

/* Whether the type is that of a data source. */
bool data_is(const char *type);
/* The same of a resource; false: it is not, or has no type. */
bool data_is_of(const char *id, const struct value *extensions);

/* Reads it, if everything that it is asked by is known: UNCHANGED, else READ (engine/runtime.h). */
int data_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_step **ret, struct error *error);
