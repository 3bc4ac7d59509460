#include "controller/flags.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/duration.h"
#include "engine/base/str.h"

enum flag_type { FLAG_STRING, FLAG_STRINGS, FLAG_COUNT, FLAG_SIZE, FLAG_DURATION, FLAG_BOOL };

static const struct flag {
    const char *name;
    enum flag_type type;
    size_t offset;
    const char *fallback;
    const char *help;
} table[] = {
#define FLAG(name, type, member, fallback, help)                   \
    {                                                              \
        name, type, offsetof(struct flags, member), fallback, help \
    }
    FLAG("kubeconfig", FLAG_STRING, kubeconfig, NULL,
         "path of a kubeconfig; default: the configuration of the pod, in its cluster"),
    FLAG("context", FLAG_STRING, context, NULL,
         "context of the kubeconfig; default: its current context"),
    FLAG("state-namespace", FLAG_STRING, state_namespace, NULL,
         "namespace of State, plans and the Lease; default: the pod's own, else kusion-system"),
    FLAG("state-backend", FLAG_STRING, state_backend, "configmap",
         "store of State and plans: configmap; or, for these and Releases, file:FOLDER, "
         "postgres://USER@HOST/DATABASE, s3://BUCKET/PREFIX, https://HOST/FOLDER (WebDAV)"),
    FLAG("state-key", FLAG_STRING, state_key, NULL,
         "key that seals what the store gets: file:FOLDER, or kms:unix:///SOCKET of a KMS v2 "
         "plugin"),
    FLAG("state-encryption", FLAG_STRING, state_encryption, NULL,
         "what is sealed: none, secret, all; default: secret with --state-key, which stores on "
         "servers need"),
    FLAG("accept-store", FLAG_STRING, accept_store, NULL,
         "use the store although it is not the one that the operator knows: the token of the "
         "message "
         "that says so, which is of no use for any other store"),
    FLAG("watch-namespace", FLAG_STRING, watch_namespace, NULL,
         "watch only this namespace; default: all"),
    FLAG("watch-label-selector", FLAG_STRING, watch_label_selector, NULL,
         "watch only Specs with these labels; default: all"),
    FLAG("default-service-account", FLAG_STRING, default_service_account, "default",
         "ServiceAccount, in the Spec's namespace, of Specs that name none"),
    FLAG("act-as-controller", FLAG_BOOL, act_as_controller, "false",
         "apply Specs that name no ServiceAccount with the operator's own rights"),
    FLAG("no-cross-namespace-refs", FLAG_BOOL, no_cross_namespace_refs, "false",
         "a Spec may not depend on Specs of other namespaces"),
    FLAG("allow-cluster-address", FLAG_STRINGS, allow_cluster_addresses, NULL,
         "addresses that a kubeConfig may lead to all the same, such as 10.96.0.0/16; may be "
         "repeated; default: none of this machine, of its link, or of the cluster's Services"),
    FLAG("concurrent", FLAG_COUNT, concurrent, "4",
         "number of Specs that are reconciled at once, 1 to 100"),
    FLAG("parallelism", FLAG_COUNT, parallelism, "10",
         "number of resources of one Spec that are applied at once, 1 to 100"),
    FLAG("operation-memory", FLAG_SIZE, operation_memory, "64Mi",
         "memory for all operations; beyond it new ones wait, and waiting ones are evicted"),
    FLAG("max-timeout", FLAG_DURATION, max_timeout, "24h",
         "largest timeout of a Spec; a longer one is reduced to it"),
    FLAG("min-interval", FLAG_DURATION, min_interval, "10s",
         "smallest interval of a Spec; a shorter one is raised to it"),
    FLAG("min-retry-interval", FLAG_DURATION, min_retry_interval, "1s",
         "smallest retryInterval of a Spec; a shorter one is raised to it"),
    FLAG("verify-interval", FLAG_DURATION, verify_interval, "1h",
         "time between two looks at the values of a Spec's objects, where watches tell all else"),
    FLAG("preview-ttl", FLAG_DURATION, preview_ttl, "24h",
         "time after which a finished preview is deleted, unless it has ttlSecondsAfterFinished"),
    FLAG("preview-history-limit", FLAG_COUNT, preview_history_limit, "10",
         "number of finished previews that are kept for each Spec, 1 to 100"),
    FLAG("leader-elect", FLAG_BOOL, leader_elect, "true",
         "act only while this process holds the Lease"),
    FLAG("lease-name", FLAG_STRING, lease_name, "kusion-operator", "name of the Lease"),
    FLAG("blind-timeout", FLAG_DURATION, blind_timeout, "2m",
         "a leader whose watches fail for this time, or whose writes get no answer, releases the "
         "Lease and ends; it is not ready when its watches have failed for half of it"),
    FLAG("stuck-timeout", FLAG_DURATION, stuck_timeout, "10m",
         "/healthz fails if Specs or Releases wait, and none is reconciled for this time; 0s: "
         "never. "
         "A reconcile takes a minute or two if the API server does not answer"),
    FLAG("api-request-timeout", FLAG_DURATION, api_request_timeout, "1m",
         "the API server's --request-timeout: a request without an answer may take effect for this "
         "time"),
    FLAG("drain-timeout", FLAG_DURATION, drain_timeout, "25s",
         "time for calls in flight to end, during the shutdown"),
    FLAG("terraform-provider", FLAG_STRINGS, terraform_providers, NULL,
         "a Terraform provider that Specs may use, such as hashicorp/random@~> 3.6, or one in a "
         "folder of its own, rack/host@1.2.0=/FOLDER; may be repeated; default: none"),
    FLAG("terraform-plugin-dir", FLAG_STRING, terraform_plugin_dir, NULL,
         "folder with these providers, laid out as a filesystem mirror of Terraform, unpacked or "
         "packed"),
    FLAG("terraform-network-mirror", FLAG_STRING, terraform_network_mirror, NULL,
         "address of a network mirror of Terraform with these providers, "
         "https://example.com/providers/"),
    FLAG("terraform-download-from", FLAG_STRINGS, terraform_download_from, NULL,
         "a host, such as registry.terraform.io, from which these providers may be downloaded; may "
         "be repeated; default: none"),
    FLAG("terraform-ca-file", FLAG_STRING, terraform_ca_file, NULL,
         "file with the CAs (PEM) of these hosts; default: the system's"),
    FLAG("terraform-lock-file", FLAG_STRING, terraform_lock_file, NULL,
         "file .terraform.lock.hcl with versions and hashes of these providers: of those that it "
         "lists, no others run"),
    FLAG("terraform-cache-dir", FLAG_STRING, terraform_cache_dir, NULL,
         "folder for the operator's copies of these providers, which nobody else may write; "
         "default: one in the temporary folder, for as long as the operator runs"),
    FLAG("terraform-cache-size", FLAG_SIZE, terraform_cache_size, "4Gi",
         "disk that these copies take at most"),
    FLAG("terraform-memory", FLAG_SIZE, terraform_memory, NULL,
         "memory of all providers; beyond it a process waits until another has ended; default: "
         "five eighths of the container's limit"),
    FLAG("terraform-allow-unconfined", FLAG_BOOL, terraform_allow_unconfined, "false",
         "run them also where the kernel has no Landlock: they can read all that the operator can"),
    FLAG("http-host", FLAG_STRINGS, http_hosts, NULL,
         "a host to which resources of type HTTP may connect, [NAMESPACE/][http://]HOST[:PORT]"
         "[=RANGE,…]; may be repeated; default: none"),
    FLAG("secret-store-host", FLAG_STRINGS, secret_store_hosts, NULL,
         "a host whose secret store Specs may name in secretStore, such as vault.example.com:8200, "
         "or NAMESPACE/HOST for one namespace; may be repeated; default: none"),
    FLAG("secret-store-ca-file", FLAG_STRING, secret_store_ca_file, NULL,
         "file with the CAs (PEM) of these hosts; default: the system's"),
    FLAG("metrics-bind-address", FLAG_STRING, metrics_bind_address, ":8080",
         "address of /metrics; empty: off"),
    FLAG("health-bind-address", FLAG_STRING, health_bind_address, ":9440",
         "address of /healthz and /readyz; empty: off"),
    FLAG("log-level", FLAG_STRING, log_level, "info", "debug, info, warn or error"),
    FLAG("log-format", FLAG_STRING, log_format, "json", "json or text"),
    FLAG("http1", FLAG_BOOL, http1, "false", "use HTTP/1.1 for the API server"),
    FLAG("check", FLAG_BOOL, check, "false",
         "say whether an operator with these flags is at work, and end: 0 if one is, else 1"),
    FLAG("version", FLAG_BOOL, version, "false", "print the version"),
    FLAG("help", FLAG_BOOL, help, "false", "print this text"),
#undef FLAG
};

static void *member(struct flags *flags, const struct flag *flag)
{
    return (char *)flags + flag->offset;
}

/* "67108864", "64Mi"; -1: it is none. */
static int64_t parse_size(const char *text)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi"};
    size_t digits = strspn(text, "0123456789");
    _cleanup_free_ char *number = str_new_n(text, digits);
    int64_t count;

    if (!str_to_int64(number, &count) || count < 1 || count > INT32_MAX)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_equal(text + digits, units[i]))
            return count << (10 * i);
    return -1;
}

static int add_value(struct flag_values *values, const char *name, const char *value,
                     struct error *error)
{
    if (values->count == FLAGS_VALUES)
        return err_set(error, ERR_INVALID, "InvalidFlag", "--%s: given more than %d times", name,
                       FLAGS_VALUES);
    values->items[values->count++] = value;
    return 0;
}

static int set(struct flags *flags, const struct flag *flag, const char *value, struct error *error)
{
    int64_t count;

    switch (flag->type) {
    case FLAG_STRING:
        *(const char **)member(flags, flag) = value;
        return 0;
    case FLAG_STRINGS:
        return add_value(member(flags, flag), flag->name, value, error);
    case FLAG_COUNT:
        if (!str_to_int64(value, &count) || count < 1 || count > 100)
            return err_set(error, ERR_INVALID, "InvalidFlag",
                           "--%s: \"%s\" is not a number from "
                           "1 to 100",
                           flag->name, value);
        *(int64_t *)member(flags, flag) = count;
        return 0;
    case FLAG_SIZE:
        count = parse_size(value);
        if (count < 0)
            return err_set(error, ERR_INVALID, "InvalidFlag",
                           "--%s: \"%s\" is not a size as \"64Mi\" is", flag->name, value);
        *(int64_t *)member(flags, flag) = count;
        return 0;
    case FLAG_DURATION:
        count = duration_parse(value);
        if (count < 0)
            return err_set(error, ERR_INVALID, "InvalidFlag",
                           "--%s: \"%s\" is not a duration as \"1m30s\" is", flag->name, value);
        *(int64_t *)member(flags, flag) = count;
        return 0;
    case FLAG_BOOL:
        if (!str_equal(value, "true") && !str_equal(value, "false"))
            return err_set(error, ERR_INVALID, "InvalidFlag",
                           "--%s: \"%s\" is neither true nor "
                           "false",
                           flag->name, value);
        *(bool *)member(flags, flag) = str_equal(value, "true");
        return 0;
    }
    return 0;
}

static const struct flag *find(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (strlen(table[i].name) == length && strncmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

/* How many arguments were taken, or a negative code. */
static int take(struct flags *flags, int left, char **argv, struct error *error)
{
    const char *name = argv[0] + strlen("--"), *equals = strchr(argv[0], '=');
    const struct flag *flag;
    size_t length;
    int r;

    if (str_equal(argv[0], "-h")) {
        flags->help = true;
        return 1;
    }
    if (!str_has_prefix(argv[0], "--"))
        return err_set(error, ERR_INVALID, "InvalidFlag", "\"%s\" is not a flag; see --help",
                       argv[0]);
    length = equals ? (size_t)(equals - name) : strlen(name);
    flag = find(name, length);
    if (!flag && str_has_prefix(name, "no-") && !equals) {
        flag = find(name + 3, length - 3);
        if (flag && flag->type == FLAG_BOOL)
            return (r = set(flags, flag, "false", error)) < 0 ? r : 1;
        flag = NULL;
    }
    if (!flag)
        return err_set(error, ERR_INVALID, "InvalidFlag", "%s is not known; see --help", argv[0]);
    if (equals)
        return (r = set(flags, flag, equals + 1, error)) < 0 ? r : 1;
    if (flag->type == FLAG_BOOL)
        return (r = set(flags, flag, "true", error)) < 0 ? r : 1;
    if (left < 2)
        return err_set(error, ERR_INVALID, "InvalidFlag", "--%s wants a value", flag->name);
    return (r = set(flags, flag, argv[1], error)) < 0 ? r : 2;
}

int flags_parse(int argc, char **argv, struct flags *ret, struct error *error)
{
    struct flags flags = {0};

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].fallback)
            set(&flags, &table[i], table[i].fallback, NULL);
    for (int i = 1; i < argc;) {
        int taken = take(&flags, argc - i, argv + i, error);

        if (taken < 0)
            return taken;
        i += taken;
    }
    *ret = flags;
    return 0;
}

void flags_print_help(void)
{
    printf("kusion-operator: reconciles Spec and Release objects of api.kusion.io/v1\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        printf("  --%-26s %s%s%s%s\n", table[i].name, table[i].help, table[i].fallback ? " (" : "",
               table[i].fallback ? table[i].fallback : "", table[i].fallback ? ")" : "");
}
