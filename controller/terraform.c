#include "controller/terraform.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/log.h"
#include "engine/base/str.h"
#include "runtimes/io/sandbox.h"
#include "runtimes/terraform/plugin/folder.h"

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

/* Bytes that the container may have; 0: there is no limit, or it is not known. */
static int64_t container_memory(void)
{
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re"); /* cgroup v2 */
    long long limit = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%lld", &limit) != 1) /* "max" */
        limit = 0;
    fclose(file);
    return limit;
}

int terraform_init(struct terraform_settings *settings, const struct flags *flags,
                   struct error *error)
{
    const struct flag_values *providers = &flags->terraform_providers;
    int r = read_mirror(settings, flags->terraform_plugin_dir, error);

    for (size_t i = 0; i < providers->count && r >= 0; i++) {
        r = source_read(providers->items[i], '@', &settings->allowed[i], error);
        if (r < 0)
            err_wrap(error, "--terraform-provider");
    }
    if (r >= 0 && providers->count && !settings->mirror)
        r = err_set(error, ERR_INVALID, "InvalidFlag",
                    "--terraform-provider needs --terraform-plugin-dir");
    if (r >= 0 && providers->count)
        r = find_folder(settings, error);
    if (r < 0)
        return r;
    if (providers->count)
        warn_of_kernel(flags->terraform_allow_unconfined);
    settings->config = (struct tf_runtime_config){
        .mirror = settings->mirror,
        .allowed = settings->allowed,
        .n_allowed = providers->count,
        .folder = settings->folder,
        .memory = flags->terraform_memory ? flags->terraform_memory : container_memory() / 4 * 3,
        .allow_unconfined = flags->terraform_allow_unconfined};
    return 0;
}

void terraform_done(struct terraform_settings *settings)
{
    free(settings->mirror);
    free(settings->folder);
    for (size_t i = 0; i < ARRAY_SIZE(settings->allowed); i++)
        source_done(&settings->allowed[i]);
}
