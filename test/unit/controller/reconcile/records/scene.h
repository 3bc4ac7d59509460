/* What the steps of reconciles work with, for tests: a scripted API server, another that takes the
 * events, a clock that stands. */
#pragma once

#include "controller/reconcile/records/context.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"

#define SCENE_NOW "2026-01-02T03:04:05Z"

/* What an API server says of a request that it does not grant. */
#define STATUS(code, reason, name)                                                       \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"" reason ": so it is\",\"" \
    "reason\":\"" reason "\",\"code\":" #code ",\"details\":{\"name\":\"" name "\"}}"

struct scene {
    struct harness api, events;
    struct fake_clock clock;
    struct reconcile_context context;
    struct error error; /* of the last call */
};

/* Of an array of so many at most, those before the first that expects nothing. */
size_t count_steps(const struct fake_step *steps, size_t most);

void scene_start(struct scene *scene, const struct fake_step *steps, size_t n_steps);
/* Fails the test for what the script did not expect, or was not asked. */
void scene_stop(struct scene *scene);

/* Replaces context.desk by one that knows nothing, and gives it. memory: bytes that operations may
 * hold; 0: without a bound. */
struct desk *scene_desk(struct scene *scene, size_t memory);

/* JSON of a test; a wrong one ends it. */
const struct value *scene_value(const char *text);
/* The body of a request of the script, from 0; NULL: there was none. */
const struct value *scene_body(struct scene *scene, size_t n);
/* Event n, from 0, of those that were emitted; NULL: there was none. None is sent after this. */
const struct value *scene_event(struct scene *scene, size_t n);
