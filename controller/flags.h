/*
 * The command line, as a table: name, type, default, help.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

#define FLAGS_VALUES 64

/* The values of a flag that may be given several times. */
struct flag_values {
    const char *items[FLAGS_VALUES];
    size_t count;
};

struct flags {
    const char *kubeconfig, *context;
    const char *state_namespace, *state_backend, *state_key, *state_encryption, *accept_store;
    const char *watch_namespace, *watch_label_selector;
    const char *default_service_account;
    const char *lease_name;
    const char *metrics_bind_address, *health_bind_address;
    const char *log_level, *log_format;
    const char *terraform_plugin_dir, *terraform_network_mirror;
    const char *terraform_ca_file, *terraform_lock_file, *terraform_cache_dir;
    const char *secret_store_ca_file;
    struct flag_values terraform_providers, terraform_download_from, http_hosts;
    struct flag_values secret_store_hosts, allow_cluster_addresses;
    int64_t concurrent, parallelism;
    int64_t operation_memory, terraform_cache_size;     /* bytes */
    int64_t drain_timeout, blind_timeout, api_request_timeout;  /* ms */
    int64_t stuck_timeout;              /* ms; 0: for ever */
    int64_t max_timeout, min_interval, min_retry_interval;      /* ms, of Specs */
    int64_t verify_interval;            /* ms */
    int64_t preview_ttl;                /* ms */
    int64_t preview_history_limit;
    int64_t terraform_memory; /* bytes; 0: not given */
    bool terraform_allow_unconfined;
    bool act_as_controller, no_cross_namespace_refs;
    bool leader_elect;
    bool http1;
    bool check;
    bool help, version;
};

/* Takes --name=value, --name value, --name and --no-name. ERR_INVALID names what is wrong. The
 * strings are borrowed from argv. */
int flags_parse(int argc, char **argv, struct flags *ret, struct error *error);
void flags_print_help(void);
