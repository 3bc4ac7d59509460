/* The runtime against a real API server (live.h): resources of a test, planned and applied. */
#pragma once

#include "runtimes/kubernetes/change/step.h"
#include "test/unit/runtimes/kubernetes/client/live.h"
#include "test/unit/runtimes/kubernetes/session/stage.h"

#define MAPS "/api/v1/namespaces/@/configmaps"
#define MAP(name, data)                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"}," \
    "\"data\":{" data "}}"

struct world {
    struct live live;
    struct stage stage;
    struct runtime_session *session; /* the controller's own */
    struct error error;
};

/* False: there is no server to test with. */
bool world_begin(struct world *world);
void world_end(struct world *world);
/* A request as another would make it, which has to succeed. body: JSON, or NULL. */
void world_do(struct world *world, const char *method, const char *path, const char *body);

/* One resource of a test, as it is asked for, and what State would have of it. */
struct thing {
    struct world *world;
    struct runtime_session *session;
    const struct value *attributes;
    struct runtime_target target;
    const struct record *record;
    struct runtime_outcome outcome; /* of the last call */
    struct runtime_step *step;      /* of the last plan */
};

void thing_init(struct thing *thing, struct world *world, const char *attributes);
void thing_done(struct thing *thing);

/* Each gives the code; the error is the world's. */
int thing_plan(struct thing *thing);
int thing_apply(struct thing *thing); /* carries out what was planned, and records it */
int thing_make(struct thing *thing);  /* both */
int thing_look(struct thing *thing);
int thing_plan_removal(struct thing *thing);
int thing_take_away(struct thing *thing); /* plans its removal and carries it out */

enum plan_action thing_action(const struct thing *thing);     /* that was planned */
enum presence thing_presence(struct thing *thing);            /* by a look */
bool thing_is_absent(void *arg);                              /* the same, for live_eventually() */
const char *thing_data(struct thing *thing, const char *key); /* of a ConfigMap, by a look */
