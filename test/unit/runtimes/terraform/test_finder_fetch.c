/* What the sources give, and in which order they are asked. */
#include "runtimes/terraform/finder_fetch.h"

#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/runtimes/terraform/finder_stage.h"
#include "test/unit/suite.h"

/* ---- Registries ---- */

static void a_registry_gives_the_newest_version_that_will_do(void)
{
    static const struct {
        const char *kind, *constraint, *version; /* NULL: none */
    } table[] = {
        {"good", NULL, "1.1.0"},        {"good", "~> 1.0.0", "1.0.0"},
        {"good", "< 1.0", NULL},        {"good", "2.0.0", NULL}, /* for another platform */
        {"good", "3.0.0", NULL},        {"good", "> 5", NULL},   /* of another protocol */
        {"redirect", "1.0.0", "1.0.0"}, {"empty", NULL, NULL},
        {"list", NULL, NULL},           {"missing", NULL, NULL},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(found_done) struct found found = {0};
        struct error error = {0};
        const char *note = table[i].constraint ? table[i].constraint : table[i].kind;
        int r = stage_find(&stage, table[i].kind, table[i].constraint, &found, &error);

        if (str_equal(table[i].constraint, "< 1.0")) { /* 0.9.0 is there, but not in the list */
            EXPECT_STR(error.reason, "ProviderChecksum", note);
            continue;
        }
        EXPECT_INT(r, table[i].version ? 0 : ERR_NOT_FOUND, error.message);
        EXPECT_STR(error.reason, table[i].version ? "" : "ProviderNotFound", note);
        EXPECT_STR(found.version, table[i].version, note);
        if (r >= 0)
            stage_expect(&stage, &found, note);
    }
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

static void what_is_wrong_with_a_registry_is_said(void)
{
    static const struct {
        const char *kind;
        int code;
        const char *reason, *message;
    } table[] = {
        {"sum-of-another", ERR_INVALID, "ProviderChecksum", "the list of checksums does not have"},
        {"unlisted", ERR_INVALID, "ProviderChecksum",
         "the list of checksums does not have another"},
        {"no-shasum", ERR_INVALID, REMOTE_FAILED, "shasum is no SHA-256"},
        {"bad-shasum", ERR_INVALID, REMOTE_FAILED, "shasum is no SHA-256"},
        {"no-list", ERR_INVALID, REMOTE_FAILED, "the list of checksums is not there"},
        {"other-platform", ERR_INVALID, REMOTE_FAILED, "is for another platform than linux_"},
        {"other-protocol", ERR_INVALID, REMOTE_FAILED, "speaks neither protocol 5 nor 6"},
        {"no-address", ERR_INVALID, REMOTE_FAILED, "download_url is missing"},
        {"clear-text", ERR_INVALID, REMOTE_FAILED, "does not begin with https://"},
        {"with-password", ERR_INVALID, REMOTE_FAILED, "a user or a password"},
        {"elsewhere", ERR_FORBIDDEN, "ProviderHostNotAllowed", "https://localhost:"},
        {"redirect-elsewhere", ERR_FORBIDDEN, "ProviderHostNotAllowed", "https://localhost:"},
        {"redirect-to-clear-text", ERR_INVALID, REMOTE_FAILED, "does not begin with https://"},
        {"redirect-to-file", ERR_INVALID, REMOTE_FAILED, "redirects: \"file:///etc/passwd\""},
        {"redirect-for-ever", ERR_INVALID, REMOTE_FAILED, "too many redirects"},
        {"gone", ERR_INVALID, REMOTE_FAILED, "/nowhere: HTTP status 404"},
        {"huge", ERR_INVALID, REMOTE_FAILED, "the answer is larger than"},
        {"rubbish", ERR_INVALID, REMOTE_FAILED, "/versions: line 1, column "},
        {"html", ERR_INVALID, REMOTE_FAILED, "not of the type application/json"},
        {"forbidden", ERR_INVALID, REMOTE_FAILED, "HTTP status 403"},
        {"fails", ERR_UNAVAILABLE, REMOTE_FAILED, "HTTP status 503"},
        {"cut-short", ERR_UNAVAILABLE, REMOTE_FAILED, "/files/cut-short/"},
        {"zip-damaged", ERR_INVALID, "ProviderPackageInvalid", "it is no zip archive, or damaged"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(found_done) struct found found = {0};
        struct error error = {0};

        EXPECT_INT(stage_find(&stage, table[i].kind, NULL, &found, &error), table[i].code,
                   table[i].kind);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT(!strstr(error.message, "secret") && !strstr(error.message, "hush"), error.message);
        EXPECT(!found.package, table[i].kind);
    }
    CU_ASSERT(stage_is_tidy(&stage));
    /* What failed for good is not asked for at once again. */
    EXPECT_INT(stage_requests(&stage, "/v1/providers/fails/"), 1, "asked once");
    {
        struct found found = {0};
        struct error error = {0};

        EXPECT_INT(stage_find(&stage, "cut-short", NULL, &found, &error), ERR_UNAVAILABLE, "again");
    }
    stage_done(&stage);
}

static void what_does_not_come_is_not_waited_for(void)
{
    static const struct {
        const char *kind, *message;
        int64_t answer_time, archive_time;
    } table[] = {
        {"hangs", "/v1/providers/hangs/random/versions: ", 3000, STAGE_LONG},
        {"stands-still", "/files/stands-still/", STAGE_LONG, 3000},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct found found = {0};
        struct error error = {0};

        stage.config.remote.answer_time = table[i].answer_time;
        stage.config.remote.archive_time = table[i].archive_time;
        stage_restart(&stage);
        EXPECT_INT(stage_find(&stage, table[i].kind, NULL, &found, &error), ERR_UNAVAILABLE,
                   table[i].kind);
        EXPECT_STR(error.reason, REMOTE_FAILED, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
    }
    stage_done(&stage);
}

static void an_archive_that_is_too_large_is_not_kept(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.cache_bytes = 1 << 20;
    CU_ASSERT(stage_find(&stage, "large", NULL, &found, &error) == ERR_INVALID);
    EXPECT_STR(error.reason, "ProviderPackageInvalid", error.message);
    EXPECT(strstr(error.message, "its files have more than 1 MiB"), error.message);
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

static void only_hosts_that_a_flag_names_are_asked(void)
{
    static const struct {
        bool has_mirror, has_host;
        int code;
        const char *reason, *message;
    } table[] = {
        {false, false, ERR_FORBIDDEN, "ProviderHostNotAllowed",
         "no flag --terraform-download-from of the operator names 127.0.0.1:"},
        {true, false, ERR_NOT_FOUND, "ProviderNotFound",
         "--terraform-network-mirror has no provider"},
        {true, true, ERR_NOT_FOUND, "ProviderNotFound", "the registry 127.0.0.1:"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct found found = {0};
        struct error error = {0};

        stage.config.network_mirror = table[i].has_mirror ? stage.mirror : NULL;
        stage.config.remote.mirror = stage.config.network_mirror;
        stage.config.remote.n_hosts = table[i].has_host;
        stage_restart(&stage);
        EXPECT_INT(stage_find(&stage, "missing", NULL, &found, &error), table[i].code,
                   error.message);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
    }
    EXPECT_INT(stage_requests(&stage, "/.well-known/"), 1,
               "the registry was asked when it might be");
    stage_done(&stage);
}

static void a_server_of_another_certificate_is_not_trusted(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.remote.ca_pem = NULL;
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, &error) == ERR_INVALID);
    EXPECT_STR(error.reason, REMOTE_FAILED, error.message);
    EXPECT(strstr(error.message, "certificate"), error.message);
    stage_done(&stage);
}

/* ---- Network mirrors ---- */

static void a_network_mirror_gives_what_its_hashes_say(void)
{
    static const struct {
        const char *kind, *constraint;
        int code;
        const char *reason, *message;
    } table[] = {
        {"good", NULL, 0, "", ""},
        {"h1", NULL, 0, "", ""},
        {"zh", NULL, 0, "", ""},
        {"unknown-hash", NULL, 0, "", ""},
        {"other-h1", NULL, ERR_INVALID, "ProviderChecksum", ", which the mirror does not list"},
        {"other-zh", NULL, ERR_INVALID, "ProviderChecksum", ", which the mirror does not list"},
        {"no-hashes", NULL, ERR_INVALID, "ProviderChecksum", "the mirror has no checksum"},
        {"no-address", NULL, ERR_INVALID, REMOTE_FAILED, "archives.linux_"},
        {"elsewhere", NULL, ERR_FORBIDDEN, "ProviderHostNotAllowed", "https://localhost:"},
        {"other-platform", NULL, ERR_NOT_FOUND, "ProviderNotFound", "for linux_"},
        {"good", "> 1.1", ERR_NOT_FOUND, "ProviderNotFound", "that matches > 1.1"},
        {"missing", NULL, ERR_NOT_FOUND, "ProviderNotFound", "for linux_"},
        {"huge", NULL, ERR_INVALID, REMOTE_FAILED, "the answer is larger than"},
        {"fails", NULL, ERR_UNAVAILABLE, REMOTE_FAILED, "HTTP status 503"},
    };
    struct stage stage;

    stage_init(&stage);
    stage.config.network_mirror = stage.config.remote.mirror = stage.mirror;
    stage.config.remote.n_hosts = 0;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(found_done) struct found found = {0};
        struct error error = {0};

        EXPECT_INT(stage_find(&stage, table[i].kind, table[i].constraint, &found, &error),
                   table[i].code, table[i].kind);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
        if (table[i].code == 0)
            stage_expect(&stage, &found, table[i].kind);
    }
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

/* ---- Filesystem mirrors, and the order ---- */

/* free() */
static char *pack_into(const struct stage *stage, const char *mirror, const char *version)
{
    char *path = str_printf("%s/%s/good/random/terraform-provider-random_%s_" PLATFORM ".zip",
                            mirror, stage->host, version);

    make_folders(path);
    stage_copy(stage, "good.zip", path);
    return path;
}

static void sources_are_asked_in_their_order(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *mirror = NULL, *archive = NULL;

    stage_init(&stage);
    mirror = str_printf("%s/files", stage.script.folder);
    archive = pack_into(&stage, mirror, "1.0.5");
    stage.config.mirror = mirror;
    stage.config.network_mirror = stage.config.remote.mirror = stage.mirror;
    /* The folder has one; the others' newer ones do not count. */
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_STR(found.version, "1.0.5", "the folder");
    stage_expect(&stage, &found, "packed");
    found_done(&found);
    CU_ASSERT(stage_find(&stage, "good", "1.1.0", &found, NULL) == 0);
    EXPECT_INT(stage_requests(&stage, "/mirror/"), 2, "the mirror");
    EXPECT_INT(stage_requests(&stage, "/v1/"), 0, "not the registry");
    found_done(&found);
    CU_ASSERT(stage_find(&stage, "redirect", "4.0.0-rc1", &found, NULL) == ERR_INVALID);
    EXPECT_INT(stage_requests(&stage, "/v1/providers/redirect/random/versions"), 1, "the registry");
    CU_ASSERT(stage_find(&stage, "redirect-elsewhere", "1.1.0", &found, NULL) == ERR_FORBIDDEN);
    EXPECT_INT(stage_requests(&stage, "/v1/providers/redirect-elsewhere/"), 0,
               "the mirror has a version");
    stage_done(&stage);
}

/* ---- A folder that the flag names ---- */

static void fill(const char *folder, const char *name, mode_t mode)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    CU_ASSERT_FATAL(file != NULL);
    fputs(name, file);
    fclose(file);
    chmod(path, mode);
}

static void what_is_wrong_with_a_folder_is_said(void)
{
    static const struct {
        const char *files[3]; /* those that begin with terraform- can be executed */
        const char *link;     /* where one leads; or NULL */
        const char *version;  /* that the Spec wants */
        int code;
        const char *message;
    } table[] = {
        {{"terraform-provider-random"}, NULL, NULL, 0, ""},
        {{"terraform-provider-random.py", "module"}, "module", "1.2.0", 0, ""},
        {{"terraform-provider-random"}, NULL, "1.3.0", ERR_NOT_FOUND, "that matches 1.2.0, 1.3.0"},
        {{"module"}, NULL, NULL, ERR_INVALID, "it has no program terraform-provider-random"},
        {{"terraform-provider-other"},
         NULL,
         NULL,
         ERR_INVALID,
         "it has no program terraform-provider-random"},
        {{"terraform-provider-random", "terraform-provider-random.py"},
         NULL,
         NULL,
         ERR_INVALID,
         "it has two programs, terraform-provider-random"},
        {{"terraform-provider-random"},
         "/etc/passwd",
         NULL,
         ERR_INVALID,
         "\"link\" is a link that leads out of the folder"},
    };
    struct stage stage;

    stage_init(&stage);
    stage.allowed = "1.2.0";
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(folder_remove_p) char *folder = str_new("/tmp/kusion-test-XXXXXX");
        _cleanup_(found_done) struct found found = {0};
        _cleanup_free_ char *link = NULL;
        struct error error = {0};

        CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
        link = str_printf("%s/link", folder);
        for (size_t j = 0; j < 3 && table[i].files[j]; j++)
            fill(folder, table[i].files[j],
                 str_has_prefix(table[i].files[j], "terraform-") ? 0700 : 0600);
        CU_ASSERT_FATAL(!table[i].link || symlink(table[i].link, link) == 0);
        stage.folder = folder;
        stage_restart(&stage);
        EXPECT_INT(stage_find(&stage, "good", table[i].version, &found, &error), table[i].code,
                   error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT(!error.code || strstr(error.message, folder), error.message);
        EXPECT_STR(found.version, table[i].code ? NULL : "1.2.0", table[i].message);
    }
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

static void a_program_that_cannot_be_executed_is_named(void)
{
    _cleanup_(folder_remove_p) char *folder = str_new("/tmp/kusion-test-XXXXXX");
    struct found found = {0};
    struct error error = {0};
    struct stage stage;

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    fill(folder, "terraform-provider-random", 0600);
    stage_init(&stage);
    stage.allowed = "1.2.0";
    stage.folder = folder;
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, &error) == ERR_INVALID);
    EXPECT(strstr(error.message, "its terraform-provider-random is not an executable file"),
           error.message);
    stage_done(&stage);
}

/* What was found stays; the next operator finds what is there then, with another hash. */
static void a_folder_that_changes_is_another_package(void)
{
    _cleanup_(folder_remove_p) char *folder = str_new("/tmp/kusion-test-XXXXXX");
    struct found found = {0};
    _cleanup_free_ char *module = NULL, *h1 = NULL;
    struct stage stage;

    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    module = str_printf("%s/module", folder);
    fill(folder, "terraform-provider-random", 0700);
    fill(folder, "module", 0600);
    stage_init(&stage);
    stage.allowed = "1.2.0";
    stage.folder = folder;
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    h1 = str_new(found.package->h1);
    found_done(&found);
    spoil(module);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_STR(found.package->h1, h1, "the copy is as it was");
    EXPECT(!str_has_prefix(found.program, folder), found.program);
    found_done(&found);
    stage_restart(&stage);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT(!str_equal(found.package->h1, h1), "as it is now");
    found_done(&found);
    stage_done(&stage);
}

/* ---- The lock file ---- */

static void a_lock_file_decides(void)
{
    static const struct {
        const char *version, *constraint, *hash; /* "h1", "zh": the right one */
        int code;
        const char *message;
    } table[] = {
        {"1.0.0", NULL, "h1", 0, ""},
        {"1.0.0", NULL, "zh", 0, ""},
        {"1.0.0", "1.1.0", "h1", ERR_NOT_FOUND, "that matches 1.1.0, 1.0.0"},
        {"1.0.0", NULL, "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", ERR_INVALID,
         "which the file of --terraform-lock-file does not list"},
        {"1.0.0", NULL, "zh:0000000000000000000000000000000000000000000000000000000000000000",
         ERR_INVALID, ", which the file of --terraform-lock-file does not list"},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(lock_file_free_p) struct lock_file *file = NULL;
        _cleanup_(found_done) struct found found = {0};
        _cleanup_free_ char *zh = str_printf("zh:%s", stage.zh);
        const char *hash = str_equal(table[i].hash, "h1")   ? stage.h1
                           : str_equal(table[i].hash, "zh") ? zh
                                                            : table[i].hash;
        _cleanup_free_ char *text =
            str_printf("provider \"%s/good/random\" {version=\"%s\" hashes=[\"%s\"]}", stage.host,
                       table[i].version, hash);
        struct error error = {0};

        CU_ASSERT_FATAL(lock_file_read(text, &file, &error) == 0);
        stage.config.locked = file;
        stage_restart(&stage);
        EXPECT_INT(stage_find(&stage, "good", table[i].constraint, &found, &error), table[i].code,
                   table[i].hash);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT_INT(found.is_locked, table[i].code == 0, table[i].hash);
        found_done(&found);
        finder_free(TAKE(stage.finder));
    }
    stage_done(&stage);
}

SUITE(terraform_finder_fetch, TEST(a_registry_gives_the_newest_version_that_will_do),
      TEST(what_is_wrong_with_a_registry_is_said), TEST(what_does_not_come_is_not_waited_for),
      TEST(an_archive_that_is_too_large_is_not_kept), TEST(only_hosts_that_a_flag_names_are_asked),
      TEST(a_server_of_another_certificate_is_not_trusted),
      TEST(a_network_mirror_gives_what_its_hashes_say), TEST(sources_are_asked_in_their_order),
      TEST(what_is_wrong_with_a_folder_is_said), TEST(a_program_that_cannot_be_executed_is_named),
      TEST(a_folder_that_changes_is_another_package), TEST(a_lock_file_decides))
