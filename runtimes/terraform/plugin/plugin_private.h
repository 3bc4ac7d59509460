/*
 * The parts of a plugin.
 */
#pragma once

#include <stdatomic.h>

#include "runtimes/terraform/plugin/handshake.h"
#include "runtimes/terraform/plugin/plugin.h"

struct plugin {
    char *name;
    char *folder;
    struct process *process;
    struct handshake handshake;
    struct http_client *client;
    struct http_stream *prints; /* of its code, which are dropped */
    atomic_bool is_stuck;       /* plugin_is_stuck() */
    atomic_bool is_too_large;   /* plugin_kill_for_memory() */
};
