/* Scripts for the runtime (stage.h), and one call of it. */
#pragma once

#include "test/unit/runtimes/kubernetes/session/stage.h"

#define STATUS(code, reason, message, details)                                          \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code \
    ",\"reason\":\"" reason "\",\"message\":\"" message "\",\"details\":" details "}"
#define MISSING(name) STATUS(404, "NotFound", "not found", "{\"name\":\"" name "\"}")
#define DENIED                                                                                    \
    STATUS(403, "Forbidden",                                                                      \
           "configmaps \\\"a\\\" is forbidden: User \\\"system:serviceaccount:team:deployer\\\" " \
           "cannot patch resource",                                                               \
           "{\"name\":\"a\"}")

/* After DENIED in the Spec's own namespace: which rights the account has is not known. */
#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
#define NO_REVIEW                              \
    {                                          \
        .expect = "POST " REVIEWS " ", NO_PAGE \
    }

#define CORE                                                                                       \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"configmaps\",\"kind\":\"ConfigMap\"" \
    ",\"namespaced\":true},{\"name\":\"serviceaccounts\",\"kind\":\"ServiceAccount\","             \
    "\"namespaced\":true},{\"name\":\"namespaces\",\"kind\":\"Namespace\",\"namespaced\":false}]}"
#define DISCOVERY                                                 \
    {                                                             \
        .expect = "GET /api/v1 HTTP", .status = 200, .body = CORE \
    }
#define WIDGETS                                                                              \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"widgets\",\"kind\":\"Widget\"" \
    ",\"namespaced\":true}]}"
#define NO_PAGE .status = 404, .body = "404 page not found\n", .type = "text/plain"

#define MAP(name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"}}"
#define MAP_IN(space, name)                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"" space "\"}}"
#define NAMESPACE "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\"}}"
#define WIDGET    "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"}}"
#define META_IN(space, name, more)                                                              \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name \
    "\"" space more "}}"
#define IN_TEAM             ",\"namespace\":\"team\""
#define META(name)          META_IN(IN_TEAM, name, "")
#define META_OF(name, more) META_IN(IN_TEAM, name, more)
#define LIST(items) \
    "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" items "]}"
#define MAPS "/api/v1/namespaces/team/configmaps"
#define PATCH \
    "PATCH " MAPS "/a?fieldManager=kusion-operator-a5cb1ff62f8ed32c&fieldValidation=Strict"

#define MAX_STEPS 12 /* of a row's script, one more than it has */

struct call {
    struct stage stage;
    struct runtime_session *session;
    const struct value *attributes;
    struct runtime_target target; /* of these attributes, not recorded */
};

void call_begin(struct call *call, const struct fake_step *steps, size_t n_steps,
                const char *attributes);
void call_end(struct call *call);

/* Whether a request went under the Spec's service account. */
bool call_impersonates(struct call *call, size_t n);

/* How many steps a row's script has. */
size_t count_steps(const struct fake_step *steps);
