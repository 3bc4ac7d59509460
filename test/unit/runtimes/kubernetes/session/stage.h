/* A runtime over a client, and sessions of it, for tests. */
#pragma once

#include "runtimes/kubernetes/session/session.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"

/* The owner label of the Spec "web" in the namespace "team". */
#define STAGE_OWNER "kusion-a5cb1ff62f8ed32c81ba8c077640d70f35eefe35"

struct stage {
    struct harness harness; /* of a scripted server; else unused */
    struct fake_clock clock;
    struct kube_discovery *discovery;
    struct kube_runtime runtime;
    struct error error; /* of the last call that failed */
};

/* Over a client, or (NULL) over a scripted server. */
void stage_start(struct stage *stage, struct kube_client *client, const struct fake_step *steps,
                 size_t n_steps);
void stage_stop(struct stage *stage);

/* Without an end and a cancel. */
extern const struct runtime_call stage_call;

/* A session of a Spec in a namespace, which does not look its account up. account: NULL: the
 * controller itself. */
struct runtime_session *stage_open(struct stage *stage, const char *spec_namespace,
                                   const char *name, const char *account);

/* The bare session, for what asks no server; nothing of it is to be freed. */
struct runtime_session stage_session(void);
