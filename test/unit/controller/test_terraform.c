#include "controller/terraform.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/suite.h"

#define LOCK "provider \"registry.terraform.io/a/b\" {version=\"1.0.0\" hashes=[\"%s\"]}"
#define H1   "h1:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVU="

static void put(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    fclose(file);
}

/* A folder with lock.hcl, bad.hcl, ca.pem and the folder `mirror`. */
static char *make_folder(void)
{
    _cleanup_free_ char *folder = str_new("/tmp/kusion-test-XXXXXX");
    _cleanup_free_ char *mirror = NULL, *lock = str_printf(LOCK, H1), *bad = str_printf(LOCK, "x");

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    mirror = str_printf("%s/mirror", folder);
    CU_ASSERT_FATAL(mkdir(mirror, 0700) == 0);
    put(folder, "lock.hcl", lock);
    put(folder, "bad.hcl", bad);
    put(folder, "ca.pem", "-----BEGIN CERTIFICATE-----\n");
    return TAKE(folder);
}

static int init(struct terraform_settings *settings, const struct flags *like, struct error *error)
{
    struct flags flags = *like;

    if (!flags.terraform_providers.count)
        flags.terraform_providers = (struct flag_values){{"a/b@~> 1.0"}, 1};
    flags.terraform_allow_unconfined = true;
    flags.terraform_cache_size = 1 << 20;
    return terraform_init(settings, &flags, error);
}

static void each_source_will_do(void)
{
    _cleanup_(folder_remove_p) char *folder = make_folder();
    _cleanup_free_ char *mirror = str_printf("%s/mirror", folder);
    _cleanup_free_ char *lock = str_printf("%s/lock.hcl", folder);
    _cleanup_free_ char *ca = str_printf("%s/ca.pem", folder);
    _cleanup_free_ char *cache = str_printf("%s/cache", folder);
    const struct flags rows[] = {
        {.terraform_plugin_dir = mirror},
        {.terraform_network_mirror = "https://a.example.com/providers"},
        {.terraform_download_from = {{"registry.terraform.io", "a.example.com:8443"}, 2}},
        {.terraform_providers = {{"a/b=/", "a/c@1.0.0=/usr"}, 2}},
        {.terraform_plugin_dir = mirror,
         .terraform_lock_file = lock,
         .terraform_ca_file = ca,
         .terraform_cache_dir = cache},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct terraform_settings settings = {0};
        struct error error = {0};

        EXPECT_INT(init(&settings, &rows[i], &error), 0, error.message);
        EXPECT_INT(!settings.config.finder.locked, !rows[i].terraform_lock_file, "lock file");
        EXPECT_INT(!settings.config.finder.remote.ca_pem, !rows[i].terraform_ca_file, "CAs");
        EXPECT_STR(settings.config.finder.cache, rows[i].terraform_cache_dir, "the cache");
        EXPECT_INT(settings.config.finder.cache_bytes, 1 << 20, "its size");
        terraform_done(&settings);
    }
}

static void what_is_wrong_is_said_with_the_flag(void)
{
    _cleanup_(folder_remove_p) char *folder = make_folder();
    _cleanup_free_ char *bad = str_printf("%s/bad.hcl", folder);
    _cleanup_free_ char *below = str_printf("%s/bad.hcl/cache", folder);
    const struct {
        struct flags flags;
        const char *message;
    } rows[] = {
        {{0},
         "--terraform-provider needs --terraform-plugin-dir, --terraform-network-mirror or "
         "--terraform-download-from, or the provider's own folder: NAME=/FOLDER"},
        {{.terraform_providers = {{"a/b=/", "a/c"}, 2}},
         "--terraform-provider needs --terraform-plugin-dir"},
        {{.terraform_providers = {{"a/b=/nowhere"}, 1}},
         "--terraform-provider: /nowhere: No such file or directory"},
        {{.terraform_plugin_dir = "/nowhere"}, "--terraform-plugin-dir: /nowhere: No such file"},
        {{.terraform_plugin_dir = bad}, "bad.hcl: Not a directory"},
        {{.terraform_network_mirror = "http://a/"},
         "--terraform-network-mirror: \"http://a/\" does not begin with https://"},
        {{.terraform_network_mirror = "https://a/?b"},
         "--terraform-network-mirror: an address without a query is needed"},
        {{.terraform_download_from = {{"a.b", "https://a.b"}, 2}},
         "--terraform-download-from: \"https://a.b\" is not a host, as registry.terraform.io"},
        {{.terraform_download_from = {{"a.b/c"}, 1}}, "--terraform-download-from: \"a.b/c\""},
        {{.terraform_download_from = {{"me@a.b"}, 1}}, "--terraform-download-from: \"me@a.b\""},
        {{.terraform_download_from = {{""}, 1}}, "--terraform-download-from: \"\""},
        {{.terraform_download_from = {{"*.b"}, 1}}, "--terraform-download-from: \"*.b\""},
        {{.terraform_network_mirror = "https://a/", .terraform_lock_file = "/nowhere"},
         "--terraform-lock-file: cannot read /nowhere"},
        {{.terraform_network_mirror = "https://a/", .terraform_lock_file = bad},
         "--terraform-lock-file: line 1: \"x\" is no hash"},
        {{.terraform_network_mirror = "https://a/", .terraform_ca_file = "/nowhere"},
         "--terraform-ca-file: cannot read /nowhere"},
        {{.terraform_network_mirror = "https://a/", .terraform_cache_dir = below},
         "--terraform-cache-dir: "},
        {{.terraform_providers = {{"a"}, 1}, .terraform_network_mirror = "https://a/"},
         "--terraform-provider: \"a\" is not a provider"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct terraform_settings settings = {0};
        struct error error = {0};

        EXPECT_INT(init(&settings, &rows[i].flags, &error), ERR_INVALID, rows[i].message);
        EXPECT(strstr(error.message, rows[i].message), error.message);
        terraform_done(&settings);
    }
}

static void the_limit_of_the_container_is_read_from_both_kinds_of_cgroups(void)
{
    static const struct {
        const char *file, *text;
        int64_t limit;
    } rows[] = {
        {NULL, NULL, 0},
        {"memory.max", "536870912\n", 536870912},
        {"memory.max", "max\n", 0},
        {"memory/memory.limit_in_bytes", "268435456\n", 268435456},
        {"memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(folder_remove_p) char *folder = make_folder();
        _cleanup_free_ char *memory = str_printf("%s/memory", folder);

        CU_ASSERT_FATAL(mkdir(memory, 0700) == 0);
        if (rows[i].file)
            put(folder, rows[i].file, rows[i].text);
        EXPECT_INT(terraform_container_memory(folder), rows[i].limit, rows[i].file);
    }
}

static char logged[4096];

static void keep_log(const char *line, size_t length)
{
    snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%.*s", (int)length, line);
}

static int64_t at_zero(void)
{
    return 0;
}

/* Where the container has a limit, there is one, too. */
static void memory_without_a_bound_is_told(void)
{
    const bool has_limit = terraform_container_memory("/sys/fs/cgroup");
    const struct {
        int64_t memory;
        bool is_told;
    } rows[] = {{1 << 30, false}, {0, !has_limit}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct terraform_settings settings = {0};
        const struct flags flags = {.terraform_network_mirror = "https://a/",
                                    .terraform_memory = rows[i].memory};
        struct error error = {0};

        logged[0] = '\0';
        log_open(&(struct log_sink){.now = at_zero, .write = keep_log, .level = LOG_WARN});
        EXPECT_INT(init(&settings, &flags, &error), 0, error.message);
        log_open(NULL);
        EXPECT_INT(strstr(logged, "memory of Terraform providers has no bound") != NULL,
                   rows[i].is_told, logged);
        terraform_done(&settings);
    }
}

SUITE(terraform_flags, TEST(the_limit_of_the_container_is_read_from_both_kinds_of_cgroups),
      TEST(each_source_will_do), TEST(what_is_wrong_is_said_with_the_flag),
      TEST(memory_without_a_bound_is_told))
