#include "controller/terraform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/io/http_url.h"
#include "runtimes/io/sandbox.h"
#include "runtimes/kubernetes/client/file.h"
#include "runtimes/terraform/plugin/folder.h"

#define CGROUP   "/sys/fs/cgroup"
#define NO_LIMIT (INT64_C(1) << 60) /* bytes: cgroup v1 has a number for "none" */

static int read_mirror(struct terraform_settings *settings, const char *folder, struct error *error)
{
    struct stat status;

    if (!folder)
        return 0;
    settings->mirror = realpath(folder, NULL);
    if (settings->mirror && stat(settings->mirror, &status) == 0 && S_ISDIR(status.st_mode))
        return 0;
    return err_set(error, ERR_INVALID, "InvalidFlag", "--terraform-plugin-dir: %s: %s", folder,
                   strerrordesc_np(settings->mirror ? ENOTDIR : errno));
}

static int invalid(struct error *error, const char *flag, const struct error *why)
{
    return err_set(error, ERR_INVALID, "InvalidFlag", "--%s: %s", flag, why->message);
}

static int read_network(const struct flags *flags, struct error *error)
{
    const struct flag_values *hosts = &flags->terraform_download_from;
    const char *mirror = flags->terraform_network_mirror;
    struct http_url url = {0};
    struct error failure = {0};
    int r = mirror ? http_url_read(NULL, mirror, &url, &failure) : 0;
    bool has_query = url.path && strchr(url.path, '?');

    http_url_done(&url);
    if (r < 0)
        return invalid(error, "terraform-network-mirror", &failure);
    if (has_query)
        return err_set(error, ERR_INVALID, "InvalidFlag",
                       "--terraform-network-mirror: an address without a query is needed");
    for (size_t i = 0; i < hosts->count; i++)
        if (!remote_is_host(hosts->items[i]))
            return err_set(error, ERR_INVALID, "InvalidFlag",
                           "--terraform-download-from: \"%s\" is not a host, as "
                           "registry.terraform.io and registry.example.com:8443 are",
                           hosts->items[i]);
    return 0;
}

static int read_files(struct terraform_settings *settings, const struct flags *flags,
                      struct error *error)
{
    _cleanup_free_ char *text = NULL;
    struct error failure = {0};

    if (flags->terraform_ca_file &&
        file_read_text(flags->terraform_ca_file, &settings->ca_pem, &failure) < 0)
        return invalid(error, "terraform-ca-file", &failure);
    if (flags->terraform_lock_file &&
        (file_read_text(flags->terraform_lock_file, &text, &failure) < 0 ||
         lock_file_read(text, &settings->locked, &failure) < 0))
        return invalid(error, "terraform-lock-file", &failure);
    return 0;
}

static int find_cache(struct terraform_settings *settings, const char *folder, struct error *error)
{
    if (!folder)
        return 0;
    if (mkdir(folder, 0700) == 0 || errno == EEXIST)
        settings->cache = realpath(folder, NULL);
    return settings->cache
               ? 0
               : err_set(error, ERR_INVALID, "InvalidFlag", "--terraform-cache-dir: %s: %s", folder,
                         strerrordesc_np(errno));
}

static int find_folder(struct terraform_settings *settings, struct error *error)
{
    const char *folder = getenv("TMPDIR");

    settings->folder = realpath(folder && *folder ? folder : "/tmp", NULL);
    if (settings->folder && strlen(settings->folder) <= FOLDER_LONGEST)
        return 0;
    return err_set(error, ERR_INVALID, "InvalidFlag",
                   "--terraform-provider: providers need a temporary folder: TMPDIR, or /tmp, with "
                   "a path of at most %d bytes",
                   FOLDER_LONGEST);
}

/* A Spec that needs a provider says so too; who runs the operator reads it here. */
static void warn_of_kernel(bool allow_unconfined)
{
    const char *why;

    if (sandbox_guards_files(&why))
        return;
    log_warn(allow_unconfined
                 ? "Terraform providers can read every file that the operator can, its token too"
                 : "no Terraform provider can run, because it could read the operator's token; "
                   "--terraform-allow-unconfined lets them run all the same",
             "reason", "ProviderNotConfined", "error", why, NULL);
}

/* 0: there is no limit, or no such file. */
static int64_t read_limit(const char *root, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", root, name);
    FILE *file = fopen(path, "re");
    long long limit = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%lld", &limit) != 1 || limit >= NO_LIMIT) /* "max" */
        limit = 0;
    fclose(file);
    return limit;
}

int64_t terraform_container_memory(const char *root)
{
    int64_t limit = read_limit(root, "memory.max"); /* cgroup v2 */

    return limit ? limit : read_limit(root, "memory/memory.limit_in_bytes");
}

static void fill(struct terraform_settings *settings, const struct flags *flags)
{
    settings->config = (struct tf_runtime_config){
        .finder = {.mirror = settings->mirror,
                   .network_mirror = flags->terraform_network_mirror,
                   .remote = {.hosts = flags->terraform_download_from.items,
                              .n_hosts = flags->terraform_download_from.count,
                              .mirror = flags->terraform_network_mirror,
                              .ca_pem = settings->ca_pem},
                   .locked = settings->locked,
                   .cache = settings->cache,
                   .cache_bytes = (uint64_t)flags->terraform_cache_size},
        .allowed = settings->allowed,
        .n_allowed = flags->terraform_providers.count,
        .folder = settings->folder,
        .memory = flags->terraform_memory ? flags->terraform_memory
                                          : terraform_container_memory(CGROUP) / 8 * 5,
        .allow_unconfined = flags->terraform_allow_unconfined};
}

/* A provider that has no folder of its own is looked for. */
static bool needs_source(const struct terraform_settings *settings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!settings->allowed[i].folder)
            return true;
    return false;
}

int terraform_init(struct terraform_settings *settings, const struct flags *flags,
                   struct error *error)
{
    const struct flag_values *providers = &flags->terraform_providers;
    int r = read_mirror(settings, flags->terraform_plugin_dir, error);

    for (size_t i = 0; i < providers->count && r >= 0; i++) {
        r = source_read_allowed(providers->items[i], &settings->allowed[i], error);
        if (r < 0)
            err_wrap(error, "--terraform-provider");
    }
    if (r >= 0 && needs_source(settings, providers->count) && !settings->mirror &&
        !flags->terraform_network_mirror && !flags->terraform_download_from.count)
        r = err_set(error, ERR_INVALID, "InvalidFlag",
                    "--terraform-provider needs --terraform-plugin-dir, "
                    "--terraform-network-mirror or --terraform-download-from, or the provider's "
                    "own folder: NAME=/FOLDER");
    if (r >= 0)
        r = read_network(flags, error);
    if (r >= 0)
        r = read_files(settings, flags, error);
    if (r >= 0)
        r = find_cache(settings, flags->terraform_cache_dir, error);
    if (r >= 0 && providers->count)
        r = find_folder(settings, error);
    if (r < 0)
        return r;
    if (providers->count)
        warn_of_kernel(flags->terraform_allow_unconfined);
    fill(settings, flags);
    if (providers->count && !settings->config.memory)
        log_warn("the memory of Terraform providers has no bound: the container has no limit, and "
                 "--terraform-memory is not given",
                 NULL);
    return 0;
}

void terraform_done(struct terraform_settings *settings)
{
    free(settings->mirror);
    free(settings->folder);
    free(settings->cache);
    free(settings->ca_pem);
    lock_file_free(settings->locked);
    for (size_t i = 0; i < ARRAY_SIZE(settings->allowed); i++)
        source_done(&settings->allowed[i]);
}
