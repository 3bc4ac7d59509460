/* What the HTTP runtime is given: hosts, and who reads credentials for it. */
#pragma once

#include "engine/runtime.h"
#include "runtimes/io/http_hosts.h"

/* An object of the cluster with credentials. */
struct http_secret_query {
    const char *namespace_name;
    const char *account; /* with whose rights it is read; NULL: the operator's own */
    bool is_config_map;
    const char *name;
};

/* Borrowed; lives longer than the runtime. */
struct http_runtime_config {
    const struct http_hosts *hosts;
    /* Reads the data of a Secret or a ConfigMap, decoded: an object of strings; a reference.
     * ERR_NOT_FOUND, ERR_FORBIDDEN, or what may pass. */
    int (*read_secret)(void *arg, const struct http_secret_query *query,
                       const struct runtime_call *call, const struct value **ret,
                       struct error *error);
    void *read_secret_arg;
};
