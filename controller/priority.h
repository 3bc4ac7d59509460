/*
 * How urgent it is to look at an object that came or changed. After a start everything comes at
 * once: what has nothing new waits for what has.
 */
#pragma once

#include "controller/core/informer.h"
#include "controller/core/workqueue.h"

/* old, now: as for an informer's on_change(). */
typedef enum workqueue_priority priority_fn(const struct informer_object *old,
                                            const struct informer_object *now);

/* A Spec that has our finalizer when the process starts was begun before: it waits. */
priority_fn priority_of_spec;
/* Releases that are there when the process starts ended long ago, most of them: they wait. An
 * approval that comes then is not to wait for thousands of them. */
priority_fn priority_of_release;
