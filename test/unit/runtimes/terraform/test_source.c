#include "runtimes/terraform/source.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/mirror.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/suite.h"

/* ---- Names of providers ---- */

static void names_of_providers_are_read(void)
{
    static const struct {
        const char *text;
        char separator;
        const char *address, *shown, *version;
    } table[] = {
        {"hashicorp/random", '/', "registry.terraform.io/hashicorp/random", "hashicorp/random",
         NULL},
        {"hashicorp/random/3.7.2", '/', "registry.terraform.io/hashicorp/random",
         "hashicorp/random", "3.7.2"},
        {"registry.terraform.io/hashicorp/random/3.7.2", '/',
         "registry.terraform.io/hashicorp/random", "hashicorp/random", "3.7.2"},
        {"example.com:8443/a-b/c_d", '/', "example.com:8443/a-b/c_d", "example.com:8443/a-b/c_d",
         NULL},
        {"hashicorp/random@~> 3.6", '@', "registry.terraform.io/hashicorp/random",
         "hashicorp/random", "~> 3.6"},
        {"hashicorp/random", '@', "registry.terraform.io/hashicorp/random", "hashicorp/random",
         NULL},
        {"hashicorp/random/>= 3, < 4", '/', "registry.terraform.io/hashicorp/random",
         "hashicorp/random", ">= 3, < 4"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(source_done) struct source source = {0};

        EXPECT_INT(source_read(table[i].text, table[i].separator, &source, NULL), 0, table[i].text);
        EXPECT_STR(source.address, table[i].address, table[i].text);
        EXPECT_STR(source.shown, table[i].shown, table[i].text);
        EXPECT(str_has_suffix(source.address, source.name), table[i].text);
        EXPECT_STR(source.version, table[i].version, table[i].text);
    }
}

static void what_is_no_provider_is_refused(void)
{
    static const struct {
        const char *text;
        char separator;
    } table[] = {
        {"", '/'},
        {"random", '/'},
        {"a/b/c/d/e", '/'},
        {"/random", '/'},
        {"hashicorp/", '/'},
        {"../../etc", '/'},
        {"../hashicorp/random", '/'},
        {"..../hashicorp/random", '/'},
        {"host/hashicorp/random", '/'},
        {"Hashicorp/random", '/'},
        {"hashicorp/ran dom", '/'},
        {"hashicorp/random/3.x", '/'},
        {"hashicorp/random@", '@'},
        {"hashicorp/random@latest", '@'},
        {"hashicorp/random/3.7.2", '@'},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct source source = {0};

        EXPECT_INT(source_read(table[i].text, table[i].separator, &source, NULL), ERR_INVALID,
                   table[i].text);
    }
}

static void folders_of_the_flag_are_read(void)
{
    static const struct {
        const char *text, *version, *folder;
        const char *message; /* NULL: it is read */
    } table[] = {
        {"hashicorp/random@>= 3.6, != 3.7", ">= 3.6, != 3.7", NULL, NULL},
        {"rack/host=/usr/../usr/lib/", SOURCE_VERSION, "/usr/lib", NULL},
        {"rack/host@1.2.0-rc1=/usr/lib", "1.2.0-rc1", "/usr/lib", NULL},
        {"rack/host=usr", NULL, NULL, "\"rack/host=usr\" is not a provider"},
        {"rack/host=/nowhere", NULL, NULL, "/nowhere: No such file or directory"},
        {"rack/host=/etc/passwd", NULL, NULL, "/etc/passwd: Not a directory"},
        {"rack/host@~> 1.0=/usr/lib", NULL, NULL,
         "~> 1.0: what is in a folder has a version, such as 1.2.0, and no constraint"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(source_done) struct source source = {0};
        struct error error = {0};

        EXPECT_INT(source_read_allowed(table[i].text, &source, &error),
                   table[i].message ? ERR_INVALID : 0, table[i].text);
        EXPECT(str_has_prefix(error.message, table[i].message ? table[i].message : ""),
               error.message);
        EXPECT_STR(source.version, table[i].version, table[i].text);
        EXPECT_STR(source.folder, table[i].folder, table[i].text);
    }
}

/* ---- Folders with providers ---- */

static char *temporary(void)
{
    char *path = str_new("/tmp/kusion-test-XXXXXX");

    CU_ASSERT_FATAL(mkdtemp(path) != NULL);
    return path;
}

static void put(const char *root, const char *path, mode_t mode)
{
    _cleanup_free_ char *all = str_printf("%s/%s", root, path);
    FILE *file;

    for (char *slash = strchr(all + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(all, 0755);
        *slash = '/';
    }
    file = fopen(all, "we");
    CU_ASSERT_FATAL(file != NULL);
    fclose(file);
    chmod(all, mode);
}

#ifdef __x86_64__
#define HERE      "linux_amd64"
#define ELSEWHERE "linux_arm64"
#else
#define HERE      "linux_arm64"
#define ELSEWHERE "linux_amd64"
#endif
#define RANDOM "registry.terraform.io/hashicorp/random/"

static void the_newest_version_that_matches_is_found(void)
{
    static const struct {
        const char *source, *constraint, *version; /* NULL: none */
        const char *path;                          /* in the mirror */
    } table[] = {
        {"hashicorp/random", NULL, "3.10.0", RANDOM "3.10.0/" HERE},
        {"hashicorp/random/~> 3.6.0", NULL, "3.6.2", RANDOM "3.6.2/" HERE},
        {"hashicorp/random/>= 3", "< 3.10", "3.9.1", RANDOM "3.9.1/" HERE},
        {"hashicorp/random/4.0.0-beta1", NULL, "4.0.0-beta1", RANDOM "4.0.0-beta1/" HERE},
        {"hashicorp/random/5.0.0", NULL, NULL, NULL}, /* for another platform */
        {"hashicorp/random/~> 3.7.0", NULL, "3.7.1",
         RANDOM "terraform-provider-random_3.7.1_" HERE ".zip"},
        {"hashicorp/random/3.6.2", "3.9.1", NULL, NULL},
        {"hashicorp/random/3.8.0", NULL, NULL, NULL}, /* a folder that is named as an archive */
        {"hashicorp/random/7.0.0", NULL, NULL, NULL}, /* an archive of another provider */
        {"hashicorp/other", NULL, NULL, NULL},
        {"example.com/hashicorp/random", NULL, NULL, NULL},
    };
    _cleanup_(folder_remove_p) char *root = temporary();

    put(root, RANDOM "3.6.2/" HERE "/terraform-provider-random_v3.6.2_x5", 0755);
    put(root, RANDOM "3.9.1/" HERE "/LICENSE", 0644);
    put(root, RANDOM "3.9.1/" HERE "/terraform-provider-random_v3.9.1", 0755);
    put(root, RANDOM "3.10.0/" HERE "/terraform-provider-random_v3.10.0", 0755);
    put(root, RANDOM "4.0.0-beta1/" HERE "/terraform-provider-random_v4.0.0-beta1", 0755);
    put(root, RANDOM "5.0.0/" ELSEWHERE "/terraform-provider-random_v5.0.0", 0755);
    put(root, RANDOM "terraform-provider-random_3.7.1_" HERE ".zip", 0644);
    put(root, RANDOM "terraform-provider-random_3.9.1_" HERE ".zip", 0644); /* unpacked, too */
    put(root, RANDOM "terraform-provider-random_6.0.0_" ELSEWHERE ".zip", 0644);
    put(root, RANDOM "terraform-provider-random_3.8.0_" HERE ".zip/file", 0644);
    put(root, RANDOM "terraform-provider-other_7.0.0_" HERE ".zip", 0644);
    put(root, RANDOM "terraform-provider-random__" HERE ".zip", 0644);
    put(root, RANDOM "index.json", 0644);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(source_done) struct source source = {0};
        _cleanup_(offer_done) struct offer offer = {0};
        _cleanup_free_ char *path = table[i].path ? str_printf("%s/%s", root, table[i].path) : NULL;

        EXPECT_INT(source_read(table[i].source, '/', &source, NULL), 0, table[i].source);
        mirror_find(root,
                    &(struct wanted){.source = &source,
                                     .constraints = {source.version, table[i].constraint}},
                    &offer, NULL);
        EXPECT_STR(offer.version, table[i].version, table[i].source);
        EXPECT_STR(offer.folder ? offer.folder : offer.archive, path, table[i].source);
    }
}

static void a_provider_that_is_not_there_is_named(void)
{
    _cleanup_(folder_remove_p) char *root = temporary();
    _cleanup_(source_done) struct source source = {0};
    struct offer offer = {0};
    struct error error = {0};

    CU_ASSERT(source_read("hashicorp/random/~> 3.6", '/', &source, NULL) == 0);
    CU_ASSERT(mirror_find(
                  root, &(struct wanted){.source = &source, .constraints = {source.version, "< 9"}},
                  &offer, &error) == ERR_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(error.reason, "ProviderNotFound");
    CU_ASSERT_STRING_EQUAL(
        error.message,
        "the folder of --terraform-plugin-dir has no provider hashicorp/random for " HERE
        " that matches ~> 3.6, < 9");
}

/* ---- Temporary folders ---- */

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void providers_are_listed(void)
{
    struct source sources[SOURCE_LIST + 2];
    _cleanup_buf_ struct buf one = BUF_INIT, many = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        CU_ASSERT_FATAL(
            source_read(i ? "a/b" : "hashicorp/random@~> 3.6", '@', &sources[i], NULL) == 0);
    source_list(&one, sources, 2);
    EXPECT_STR(one.data, "hashicorp/random ~> 3.6, a/b", "two");
    source_list(&many, sources, ARRAY_SIZE(sources));
    EXPECT(strstr(many.data, "a/b, a/b, and 2 more"), many.data);
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
        source_done(&sources[i]);
}

static void the_folder_of_an_operator_that_is_gone_is_removed(void)
{
    _cleanup_(folder_remove_p) char *root = temporary();
    char *first, *second, *third, *process;
    int first_lock, second_lock, third_lock;

    CU_ASSERT_FATAL(folder_claim(root, &first, &first_lock, NULL) == 0);
    CU_ASSERT_FATAL(folder_make(first, &process, NULL) == 0);
    put(process, "a/b/socket", 0600);
    CU_ASSERT_FATAL(folder_claim(root, &second, &second_lock, NULL) == 0);
    CU_ASSERT(exists(first) && exists(second)); /* both live */
    close(first_lock);                          /* it was killed */
    CU_ASSERT_FATAL(folder_claim(root, &third, &third_lock, NULL) == 0);
    CU_ASSERT(!exists(first) && exists(second) && exists(third));
    free(first);
    free(process);
    folder_remove(second);
    folder_remove(third);
    close(second_lock);
    close(third_lock);
}

static void links_are_not_followed(void)
{
    _cleanup_(folder_remove_p) char *root = temporary(), *outside = temporary();
    _cleanup_free_ char *link = NULL, *file = NULL;
    char *folder;

    put(outside, "precious", 0600);
    CU_ASSERT_FATAL(folder_make(root, &folder, NULL) == 0);
    link = str_printf("%s/link", folder);
    file = str_printf("%s/precious", outside);
    CU_ASSERT(symlink(outside, link) == 0);
    folder_remove(folder);
    CU_ASSERT(exists(file) && !exists(link));
}

SUITE(terraform_source, TEST(names_of_providers_are_read), TEST(what_is_no_provider_is_refused),
      TEST(folders_of_the_flag_are_read), TEST(providers_are_listed),
      TEST(the_newest_version_that_matches_is_found), TEST(a_provider_that_is_not_there_is_named),
      TEST(the_folder_of_an_operator_that_is_gone_is_removed), TEST(links_are_not_followed))
