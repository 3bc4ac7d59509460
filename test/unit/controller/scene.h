/*
 * The operator's program against an API server in memory: as it is started in a cluster, with
 * nothing of it replaced. A test writes Specs, waits for what their statuses say, and looks at what
 * is there and how often it was written. It may kill the program at any write and start it again.
 *
 * The Namespaces "team" (with ServiceAccount "default") and "kusion-system" are there. With
 * KUSION_TEST_LOG=1 the program's log goes to stderr.
 */
#pragma once

#include <sys/types.h>

#include "test/unit/api_server/api_server.h"
#include "test/unit/suite.h"

struct scene {
    struct api_server *server;
    char *kubeconfig;  /* a file */
    const char *flags; /* more of them, or NULL */
    char *log;         /* a file: what the program logs */
    pid_t pid;         /* 0: it does not run */
};

/* Starts both. */
void scene_begin(struct scene *scene);
void scene_end(struct scene *scene);

void scene_start(struct scene *scene); /* returns when it watches Specs */
void scene_kill(struct scene *scene);  /* SIGKILL */
void scene_stop(struct scene *scene);  /* SIGTERM; fails the test unless it ends well within 10 s */
/* Waits until it has ended by itself, whatever the way; at most 20 s. */
void scene_expect_ended(struct scene *scene);

/* ---- Paths and texts ---- */

#define SPECS       "/apis/api.kusion.io/v1/namespaces/team/specs"
#define RELEASES    "/apis/api.kusion.io/v1/namespaces/team/releases"
#define CONFIGMAPS  "/api/v1/namespaces/team/configmaps"
#define STATES      "/api/v1/namespaces/kusion-system/configmaps"
#define STATES_ONLY STATES "?labelSelector=api.kusion.io/document=state" /* of what is there */
/* Of all documents but the store's own. */
#define KEPT        STATES "?labelSelector=api.kusion.io/state,api.kusion.io/document!=store"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/team/deployments"

/* A resource: ConfigMap `name` with data.x, and what it depends on ("\"id\", …", or ""). */
#define CONFIGMAP_ID(name) "v1:ConfigMap:team:" name
#define CONFIGMAP_AFTER(name, x, depends_on)                                                \
    "{\"id\":\"" CONFIGMAP_ID(name) "\",\"type\":\"Kubernetes\",\"dependsOn\":[" depends_on \
                                    "],\"attributes\":{\"apiVersion\":\"v1\",\"kind\":"     \
                                    "\"ConfigMap\",\"metadata\":{\"name\":\"" name          \
                                    "\",\"namespace\":\"team\"},\"data\":{\"x\":\"" x "\"}}}"
#define CONFIGMAP(name, x) CONFIGMAP_AFTER(name, x, "")

/* A resource that is not ready before a test says so (scene_roll_out). */
#define DEPLOYMENT_ID(name) "apps/v1:Deployment:team:" name
#define DEPLOYMENT(name, image)                                                       \
    "{\"id\":\"" DEPLOYMENT_ID(                                                       \
        name) "\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion"               \
              "\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"" name \
              "\",\"namespace\""                                                      \
              ":\"team\"},\"spec\":{\"replicas\":1,\"template\":{\"image\":\"" image "\"}}}}"

/* Makes a Spec of team, or replaces its fields. fields: "\"prune\":false,", or "". */
void scene_spec(struct scene *scene, const char *name, const char *fields, const char *resources);
/* Deletes all that a list of STATES has: STATES_ONLY, say. */
void scene_remove_states(struct scene *scene, const char *collection);
/* As a controller of Deployments would say it. */
void scene_roll_out(struct scene *scene, const char *name);
/* Starts it once more, with the flag that the Spec's Ready suggests: the store is accepted. */
void scene_accept_store(struct scene *scene, const char *name);
/* Asks for a look at the Spec, as a person does. */
void scene_ask(struct scene *scene, const char *name);

/* ---- Waiting, at most 20 s ---- */

/* Until Ready says so of the Spec's present generation; reason: NULL: any. Fails the test
 * otherwise. */
void scene_expect_ready(struct scene *scene, const char *name, const char *status,
                        const char *reason);
/* Until the Spec's status says that the last request for a look is handled. */
void scene_expect_handled(struct scene *scene, const char *name);
/* Until a line of its log has these words; with KUSION_TEST_LOG that is not looked at. */
void scene_expect_logged(struct scene *scene, const char *words);
/* Until there is such an object, or none. */
void scene_expect_gone(struct scene *scene, const char *path);
void scene_expect_there(struct scene *scene, const char *path);
/* Until nothing was asked for 0.3 s. */
void scene_expect_quiet(struct scene *scene);
/* Until the server is cut off. */
void scene_expect_cut(struct scene *scene);

/* ---- Looking ---- */

/* The message of Ready; free(). */
char *scene_message(struct scene *scene, const char *name);
/* What the Release of a revision is in ("succeeded"); free(). NULL: there is none. */
char *scene_phase(struct scene *scene, const char *spec, unsigned revision);
/* data.x of a ConfigMap in team; free(). NULL: it is not there. */
char *scene_data(struct scene *scene, const char *name);
/* Waits until it is x (NULL: until it is not there); at most a minute. */
void scene_expect_data(struct scene *scene, const char *name, const char *x);

#define EXPECT_DATA(scene, name, x)            \
    do {                                       \
        char *data_ = scene_data(scene, name); \
        EXPECT_STR(data_, x, name);            \
        free(data_);                           \
    } while (0)
#define EXPECT_PHASE(scene, spec, revision, phase)         \
    do {                                                   \
        char *phase_ = scene_phase(scene, spec, revision); \
        EXPECT_STR(phase_, phase, #revision);              \
        free(phase_);                                      \
    } while (0)
/* What a start writes: it raises the store's identity. */
#define STARTED        "update configmaps 3"
#define STARTED_WRITES 3
#define EXPECT_WRITES(scene, summary)                               \
    do {                                                            \
        char *summary_ = api_server_write_summary((scene)->server); \
        EXPECT_STR(summary_, summary, "writes");                    \
        free(summary_);                                             \
    } while (0)
