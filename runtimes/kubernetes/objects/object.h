/*
 * Objects of the API server, as they are compared and shown.
 */
#pragma once

#include "engine/runtime.h"

/* The attributes that name a target's object: the desired or the recorded ones. NULL: there are
 * none. */
const struct value *target_identity(const struct runtime_target *target);

/* The object without status, fields that the server sets, and kubectl's last-applied annotation
 * (which may hold secrets). */
const struct value *kube_object_project(const struct value *object);

/* Marks values that are secret by nature as sensitive: the data of a Secret, and its copy in
 * kubectl's last-applied annotation. Returns a reference; NULL stays NULL. */
const struct value *kube_object_mark(const struct value *object);

/* A Secret of the group "" and the version v1. */
bool kube_object_is_secret(const struct value *object);

/* runtime_ops.exposure(). A Secret counts as one whatever is in it: it may be refused for values
 * that are no text, and so on. */
enum runtime_exposure kube_object_exposure(const struct value *written, const char *namespace_name);
