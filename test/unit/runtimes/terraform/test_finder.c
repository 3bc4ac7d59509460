#include "runtimes/terraform/finder.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/wanted.h"
#include "test/unit/runtimes/terraform/script.h"
#include "test/unit/suite.h"

#define SCRIPT "test/unit/runtimes/terraform/registry.py"
#define HUGE   (UINT64_C(1) << 30)
#define LONG   20000 /* ms */

/* A hash of which there is no copy. */
#define NO_COPY "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

/* A registry, whose host is "127.0.0.1:PORT", and a network mirror on it. */
struct stage {
    struct script script;
    char *host, *mirror, *ca, *cache;
    char h1[64], zh[80];
    const char *hosts[1];
    struct finder_config config;
    struct finder *finder;
    struct known *known; /* what the Spec has used; or NULL */
    const char *allowed; /* the flag's constraint; or NULL */
};

static void stage_init(struct stage *stage)
{
    int port;

    *stage = (struct stage){.finder = NULL};
    script_start(&stage->script, SCRIPT);
    CU_ASSERT_FATAL(fscanf(stage->script.output, "%d %63s %79s", &port, stage->h1, stage->zh) == 3);
    stage->host = str_printf("127.0.0.1:%d", port);
    stage->mirror = str_printf("https://%s/mirror/", stage->host);
    stage->ca = script_read(&stage->script, "ca.pem");
    stage->cache = str_printf("%s/cache", stage->script.folder);
    stage->hosts[0] = stage->host;
    stage->config = (struct finder_config){.remote = {.hosts = stage->hosts,
                                                      .n_hosts = 1,
                                                      .ca_pem = stage->ca,
                                                      .answer_time = LONG,
                                                      .archive_time = LONG},
                                           .cache = stage->cache,
                                           .cache_bytes = HUGE,
                                           .patience = LONG};
}

static void restart(struct stage *stage)
{
    finder_free(stage->finder);
    stage->finder = finder_new(&stage->config);
}

static void stage_done(struct stage *stage)
{
    finder_free(stage->finder);
    known_unref(stage->known);
    free(stage->host);
    free(stage->mirror);
    free(stage->ca);
    free(stage->cache);
    script_done(&stage->script);
}

/* Finds HOST/KIND/random/VERSION. */
static int find(struct stage *stage, const char *kind, const char *version, struct found *ret,
                struct error *error)
{
    _cleanup_free_ char *text = str_printf("%s/%s/random%s%s", stage->host, kind,
                                           version ? "/" : "", version ? version : "");
    _cleanup_(source_done) struct source wanted = {0}, allowed = {0};

    CU_ASSERT_FATAL(source_read(text, '/', &wanted, NULL) == 0);
    source_copy(&allowed, &wanted);
    free(allowed.version);
    allowed.version = str_new(stage->allowed);
    if (!stage->finder)
        restart(stage);
    return finder_find(stage->finder,
                       &(struct finder_ask){.namespace_name = "team",
                                            .allowed = &allowed,
                                            .wanted = &wanted,
                                            .known = stage->known},
                       system_clock.monotonic(&system_clock) + LONG, NULL, ret, error);
}

/* How many requests had this in their path. */
static unsigned requests(const struct stage *stage, const char *with)
{
    _cleanup_free_ char *all = script_read(&stage->script, "requests");
    unsigned count = 0;

    for (const char *at = all; (at = strstr(at, with)); at++)
        count++;
    return count;
}

/* Whether what was under way left nothing. */
static bool is_tidy(const struct stage *stage)
{
    _cleanup_free_ char *path = str_printf("%s/kusion-packages", stage->cache);
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool is = true;

    while (folder && (entry = readdir(folder)))
        is = is && !str_has_prefix(entry->d_name, ".new");
    if (folder)
        closedir(folder);
    return is;
}

static void expect_ready(const struct stage *stage, const struct found *found, const char *note)
{
    EXPECT_STR(found->package->h1, stage->h1, note);
    EXPECT(access(found->program, X_OK) == 0, note);
    EXPECT(str_has_prefix(found->program, found->package->folder), note);
}

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
        int r = find(&stage, table[i].kind, table[i].constraint, &found, &error);

        if (str_equal(table[i].constraint, "< 1.0")) { /* 0.9.0 is there, but not in the list */
            EXPECT_STR(error.reason, "ProviderChecksum", note);
            continue;
        }
        EXPECT_INT(r, table[i].version ? 0 : ERR_NOT_FOUND, error.message);
        EXPECT_STR(error.reason, table[i].version ? "" : "ProviderNotFound", note);
        EXPECT_STR(found.version, table[i].version, note);
        if (r >= 0)
            expect_ready(&stage, &found, note);
    }
    CU_ASSERT(is_tidy(&stage));
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

        EXPECT_INT(find(&stage, table[i].kind, NULL, &found, &error), table[i].code, table[i].kind);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT(!strstr(error.message, "secret") && !strstr(error.message, "hush"), error.message);
        EXPECT(!found.package, table[i].kind);
    }
    CU_ASSERT(is_tidy(&stage));
    /* What failed for good is not asked for at once again. */
    EXPECT_INT(requests(&stage, "/v1/providers/fails/"), 1, "asked once");
    {
        struct found found = {0};
        struct error error = {0};

        EXPECT_INT(find(&stage, "cut-short", NULL, &found, &error), ERR_UNAVAILABLE, "again");
    }
    stage_done(&stage);
}

static void what_does_not_come_is_not_waited_for(void)
{
    static const struct {
        const char *kind, *message;
        int64_t answer_time, archive_time;
    } table[] = {
        {"hangs", "/v1/providers/hangs/random/versions: ", 500, LONG},
        {"stands-still", "/files/stands-still/", LONG, 500},
    };
    struct stage stage;

    stage_init(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct found found = {0};
        struct error error = {0};

        stage.config.remote.answer_time = table[i].answer_time;
        stage.config.remote.archive_time = table[i].archive_time;
        restart(&stage);
        EXPECT_INT(find(&stage, table[i].kind, NULL, &found, &error), ERR_UNAVAILABLE,
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
    CU_ASSERT(find(&stage, "large", NULL, &found, &error) == ERR_INVALID);
    EXPECT_STR(error.reason, "ProviderPackageInvalid", error.message);
    EXPECT(strstr(error.message, "its files have more than 1 MiB"), error.message);
    CU_ASSERT(is_tidy(&stage));
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
        restart(&stage);
        EXPECT_INT(find(&stage, "missing", NULL, &found, &error), table[i].code, error.message);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
    }
    EXPECT_INT(requests(&stage, "/.well-known/"), 1, "the registry was asked when it might be");
    stage_done(&stage);
}

static void a_server_of_another_certificate_is_not_trusted(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.remote.ca_pem = NULL;
    CU_ASSERT(find(&stage, "good", NULL, &found, &error) == ERR_INVALID);
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

        EXPECT_INT(find(&stage, table[i].kind, table[i].constraint, &found, &error), table[i].code,
                   table[i].kind);
        EXPECT_STR(error.reason, table[i].reason, error.message);
        EXPECT(strstr(error.message, table[i].message), error.message);
        if (table[i].code == 0)
            expect_ready(&stage, &found, table[i].kind);
    }
    CU_ASSERT(is_tidy(&stage));
    stage_done(&stage);
}

/* ---- Filesystem mirrors, and the order ---- */

#ifdef __x86_64__
#define HERE "linux_amd64"
#else
#define HERE "linux_arm64"
#endif

static void copy(const struct stage *stage, const char *name, const char *to)
{
    _cleanup_free_ char *from = str_printf("%s/%s", stage->script.folder, name);
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    char part[4096];
    size_t n;

    CU_ASSERT_FATAL(in && out);
    while ((n = fread(part, 1, sizeof(part), in)) > 0)
        CU_ASSERT(fwrite(part, 1, n, out) == n);
    fclose(in);
    fclose(out);
}

static void make_folders(const char *path)
{
    _cleanup_free_ char *all = str_new(path);

    for (char *slash = strchr(all + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(all, 0755);
        *slash = '/';
    }
}

/* free() */
static char *pack_into(const struct stage *stage, const char *mirror, const char *version)
{
    char *path = str_printf("%s/%s/good/random/terraform-provider-random_%s_" HERE ".zip", mirror,
                            stage->host, version);

    make_folders(path);
    copy(stage, "good.zip", path);
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
    CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_STR(found.version, "1.0.5", "the folder");
    expect_ready(&stage, &found, "packed");
    found_done(&found);
    CU_ASSERT(find(&stage, "good", "1.1.0", &found, NULL) == 0);
    EXPECT_INT(requests(&stage, "/mirror/"), 2, "the mirror");
    EXPECT_INT(requests(&stage, "/v1/"), 0, "not the registry");
    found_done(&found);
    CU_ASSERT(find(&stage, "redirect", "4.0.0-rc1", &found, NULL) == ERR_INVALID);
    EXPECT_INT(requests(&stage, "/v1/providers/redirect/random/versions"), 1, "the registry");
    CU_ASSERT(find(&stage, "redirect-elsewhere", "1.1.0", &found, NULL) == ERR_FORBIDDEN);
    EXPECT_INT(requests(&stage, "/v1/providers/redirect-elsewhere/"), 0,
               "the mirror has a version");
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
        restart(&stage);
        EXPECT_INT(find(&stage, "good", table[i].constraint, &found, &error), table[i].code,
                   table[i].hash);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT_INT(found.is_locked, table[i].code == 0, table[i].hash);
        found_done(&found);
        finder_free(TAKE(stage.finder));
    }
    stage_done(&stage);
}

/* ---- Copies ---- */

static void what_is_there_is_not_downloaded_again(void)
{
    struct stage stage;
    struct found found = {0};

    stage_init(&stage);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == 0);
        expect_ready(&stage, &found, "again");
        found_done(&found);
        if (i == 1)
            restart(&stage); /* the next operator asks, and has it */
    }
    EXPECT_INT(requests(&stage, "/files/good/terraform"), 1, "downloads");
    EXPECT_INT(requests(&stage, "/versions"), 2, "one for each operator");
    stage_done(&stage);
}

static void spoil(const char *path)
{
    FILE *file;

    chmod(path, 0700);
    file = fopen(path, "ae");
    CU_ASSERT_FATAL(file != NULL);
    fputs("evil", file);
    fclose(file);
}

static void a_copy_that_was_changed_is_not_used(void)
{
    struct stage stage;
    struct found found = {0};

    stage_init(&stage);
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &found, NULL) == 0);
    spoil(found.program);
    found_done(&found);
    restart(&stage);
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &found, NULL) == 0);
    expect_ready(&stage, &found, "a new one");
    EXPECT_INT(requests(&stage, "/files/good/terraform"), 2, "downloads");
    found_done(&found);
    stage_done(&stage);
}

/* What runs is what was hashed. */
static void a_change_of_the_mirror_does_not_reach_the_copy(void)
{
    struct stage stage;
    struct found found = {0}, other = {0};
    _cleanup_free_ char *mirror = NULL, *program = NULL;
    char h1[PACKAGE_H1_SIZE];

    stage_init(&stage);
    mirror = str_printf("%s/files", stage.script.folder);
    program = str_printf("%s/%s/good/random/1.0.0/" HERE "/terraform-provider-random_v1.0.0",
                         mirror, stage.host);
    make_folders(program);
    spoil((copy(&stage, "good.zip", program), program));
    stage.config.mirror = mirror;
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &found, NULL) == 0);
    str_copy(h1, sizeof(h1), found.package->h1);
    EXPECT(!str_has_prefix(found.program, mirror), "a copy");
    spoil(program);
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &other, NULL) == 0);
    EXPECT_STR(other.package->h1, h1, "the same operator uses the same copy");
    EXPECT_STR(other.program, found.program, "the same program");
    found_done(&found);
    found_done(&other);
    restart(&stage);
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &other, NULL) == 0);
    EXPECT(!str_equal(other.package->h1, h1), "the next one sees that it changed");
    found_done(&other);
    stage_done(&stage);
}

static void what_was_not_used_for_long_makes_room(void)
{
    struct stage stage;
    struct found found = {0}, large = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.cache_bytes = (5 << 20) + 10;
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &found, NULL) == 0);
    /* In use, it stays, and leaves no room. */
    EXPECT_INT(find(&stage, "large", NULL, &large, &error), ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, "ProviderCacheFull", error.message);
    CU_ASSERT(access(found.program, X_OK) == 0);
    found_done(&found);
    restart(&stage);
    EXPECT_INT(find(&stage, "large", NULL, &large, &error), 0, error.message);
    found_done(&large);
    CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_INT(requests(&stage, "/files/good/terraform"), 2, "the first had made room");
    found_done(&found);
    CU_ASSERT(is_tidy(&stage));
    stage_done(&stage);
}

static bool give_back(void *arg, struct cache *cache, uint64_t bytes)
{
    struct found *found = arg;
    bool is_enough = cache_fits(cache, bytes, &found->package, 1);

    EXPECT(!cache_fits(cache, bytes, NULL, 0), "it is asked when there is no room");
    if (is_enough)
        found_done(found);
    return is_enough;
}

static void what_is_given_back_makes_room(void)
{
    struct stage stage;
    struct found idle = {0}, large = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.cache_bytes = (5 << 20) + 10;
    stage.config.make_room = give_back;
    stage.config.arg = &idle;
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &idle, NULL) == 0);
    EXPECT_INT(find(&stage, "large", NULL, &large, &error), 0, error.message);
    EXPECT(!idle.package && large.package, "in its place");
    found_done(&large);
    CU_ASSERT(is_tidy(&stage));
    stage_done(&stage);
}

static void what_a_killed_operator_left_is_removed(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *left = NULL;

    stage_init(&stage);
    left = str_printf("%s/kusion-packages/.new-abcdef/files/program", stage.cache);
    make_folders(left);
    EXPECT(!is_tidy(&stage), "left");
    chmod(stage.cache, 0700);
    {
        _cleanup_free_ char *packages = str_printf("%s/kusion-packages", stage.cache);

        chmod(packages, 0700);
    }
    CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == 0);
    CU_ASSERT(is_tidy(&stage));
    found_done(&found);
    stage_done(&stage);
}

static void a_folder_that_others_may_write_is_refused(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};
    _cleanup_free_ char *packages = NULL;

    stage_init(&stage);
    packages = str_printf("%s/kusion-packages/", stage.cache);
    make_folders(packages);
    chmod(packages, 0777);
    CU_ASSERT(find(&stage, "good", NULL, &found, &error) == ERR_UNAVAILABLE);
    EXPECT_STR(error.reason, "ProviderCacheFailed", error.message);
    stage_done(&stage);
}

/* Somebody empties the folder while the operator runs. */
static void a_copy_that_is_gone_is_made_anew(void)
{
    struct stage stage;
    struct found used = {0}, found = {0};
    struct error error = {0};
    _cleanup_free_ char *packages = NULL;

    stage_init(&stage);
    packages = str_printf("%s/kusion-packages", stage.cache);
    CU_ASSERT_FATAL(find(&stage, "good", NULL, &used, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        folder_remove(str_new(i ? packages : used.package->folder));
        EXPECT_INT(find(&stage, "good", NULL, &found, &error), 0, error.message);
        if (found.package)
            expect_ready(&stage, &found, i ? "the whole folder" : "one copy, which is in use");
        found_done(&found);
    }
    EXPECT_INT(requests(&stage, "/files/good/terraform"), 3, "downloads");
    found_done(&used);
    stage_done(&stage);
}

/* ---- What State recorded ---- */

static struct record record_of(const struct stage *stage, const char *version, const char *h1)
{
    _cleanup_free_ char *address = str_printf("%s/good/random", stage->host);

    return (struct record){.id = "a",
                           .type = "Terraform",
                           .memory = value_pack("{s:s, s:s, s:s}", "provider", address, "version",
                                                version, "hash", h1)};
}

/* State has version 1.0.0 with that hash, and perhaps one more version with another hash. */
static void record(struct stage *stage, const char *h1, const char *other)
{
    struct record records[] = {record_of(stage, "1.0.0", h1), record_of(stage, other, NO_COPY)};

    known_unref(stage->known);
    stage->known =
        known_new((const struct record *const[]){&records[0], &records[1]}, other ? 2 : 1, NULL);
    value_unref(records[0].memory);
    value_unref(records[1].memory);
}

/* While it is down, the registry answers nothing. */
static void set_down(const struct stage *stage, bool is_down)
{
    _cleanup_free_ char *path = str_printf("%s/down", stage->script.folder);
    FILE *file = is_down ? fopen(path, "we") : NULL;

    if (file)
        fclose(file);
    else
        unlink(path);
}

/* The next operator has a copy of the provider, and no registry. *program: free(). */
static void begin_without_registry(struct stage *stage, char **program)
{
    struct found found = {0};

    stage_init(stage);
    CU_ASSERT_FATAL(find(stage, "good", "1.0.0", &found, NULL) == 0);
    *program = str_new(found.program);
    found_done(&found);
    set_down(stage, true);
}

static void the_recorded_version_runs_while_nobody_answers(void)
{
    static const struct {
        const char *note;
        const char *h1, *other; /* recorded; h1: NULL: that of the copy */
        const char *constraint, *allowed, *locked;
        bool will_do;
    } table[] = {
        {.note = "as it was used", .will_do = true},
        {.note = "the constraint is met", .constraint = "~> 1.0.0", .will_do = true},
        {.note = "it is not", .constraint = "1.1.0"},
        {.note = "the flag's is not", .allowed = "> 1.0.0"},
        {.note = "no copy has this hash", .h1 = NO_COPY},
        {.note = "this is no hash", .h1 = "h"},
        {.note = "an older one was used, too", .other = "0.9.0", .will_do = true},
        {.note = "a newer one was used, which has no copy", .other = "1.1.0"},
        {.note = "a newer one will not do",
         .other = "1.1.0",
         .constraint = "< 1.1",
         .will_do = true},
        {.note = "it is locked", .locked = "", .will_do = true},
        {.note = "another hash is locked", .locked = NO_COPY},
    };
    struct stage stage;
    _cleanup_free_ char *program = NULL;

    begin_without_registry(&stage, &program);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(lock_file_free_p) struct lock_file *file = NULL;
        _cleanup_(found_done) struct found found = {0};
        struct error error = {0};
        const char *hash = str_equal(table[i].locked, "") ? stage.h1 : table[i].locked;
        _cleanup_free_ char *text = str_printf(
            "provider \"%s/good/random\" {version=\"1.0.0\" hashes=[\"%s\"]}", stage.host, hash);

        CU_ASSERT_FATAL(!hash || lock_file_read(text, &file, NULL) == 0);
        stage.config.locked = file;
        stage.allowed = table[i].allowed;
        record(&stage, table[i].h1 ? table[i].h1 : stage.h1, table[i].other);
        restart(&stage);
        EXPECT_INT(find(&stage, "good", table[i].constraint, &found, &error),
                   table[i].will_do ? 0 : ERR_UNAVAILABLE, table[i].note);
        EXPECT_STR(error.reason, table[i].will_do ? "" : REMOTE_FAILED, table[i].note);
        EXPECT_STR(found.version, table[i].will_do ? "1.0.0" : NULL, table[i].note);
        EXPECT_INT(found.is_locked, table[i].will_do && hash, table[i].note);
        if (found.package)
            expect_ready(&stage, &found, table[i].note);
        found_done(&found);
        finder_free(TAKE(stage.finder));
    }
    stage_done(&stage);
}

static void a_recorded_version_of_a_copy_that_was_changed_does_not_run(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *program = NULL;

    begin_without_registry(&stage, &program);
    record(&stage, stage.h1, NULL);
    spoil(program);
    restart(&stage);
    CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == ERR_UNAVAILABLE);
    stage_done(&stage);
}

static void the_source_counts_again_when_it_answers(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *program = NULL;
    int64_t begun = system_clock.monotonic(&system_clock);

    begin_without_registry(&stage, &program);
    record(&stage, stage.h1, NULL);
    restart(&stage);
    CU_ASSERT(find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_STR(found.version, "1.0.0", "recorded");
    set_down(&stage, false);
    while (!str_equal(found.version, "1.1.0") &&
           system_clock.monotonic(&system_clock) < begun + LONG) {
        found_done(&found);
        CU_ASSERT_FATAL(find(&stage, "good", NULL, &found, NULL) == 0);
        usleep(10000);
    }
    EXPECT_STR(found.version, "1.1.0", "the registry's newest");
    found_done(&found);
    stage_done(&stage);
}

/* ---- Many callers ---- */

struct caller {
    struct stage *stage;
    int result;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *caller = arg;
    struct found found = {0};

    caller->result = find(caller->stage, "slow", NULL, &found, NULL);
    found_done(&found);
    return NULL;
}

static void many_callers_make_one_download(void)
{
    struct stage stage;
    struct caller callers[12];

    stage_init(&stage);
    restart(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        callers[i] = (struct caller){.stage = &stage};
        CU_ASSERT_FATAL(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        EXPECT_INT(callers[i].result, 0, "found");
    }
    EXPECT_INT(requests(&stage, "/files/slow/terraform"), 1, "downloads");
    stage_done(&stage);
}

static void a_caller_does_not_wait_for_long(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};
    int64_t begun = system_clock.monotonic(&system_clock);

    stage_init(&stage);
    stage.config.patience = 50;
    CU_ASSERT(find(&stage, "slow", NULL, &found, &error) == ERR_UNAVAILABLE);
    EXPECT_STR(error.reason, "ProviderDownloading", error.message);
    while (find(&stage, "slow", NULL, &found, &error) == ERR_UNAVAILABLE &&
           system_clock.monotonic(&system_clock) < begun + LONG)
        ;
    EXPECT(found.package, "it went on meanwhile");
    EXPECT_INT(requests(&stage, "/files/slow/terraform"), 1, "downloads");
    found_done(&found);
    stage_done(&stage);
}

static void the_end_does_not_wait_for_a_download(void)
{
    struct stage stage;
    struct found found = {0};
    int64_t begun;

    stage_init(&stage);
    stage.config.patience = 50;
    CU_ASSERT(find(&stage, "hangs", NULL, &found, NULL) == ERR_UNAVAILABLE);
    begun = system_clock.monotonic(&system_clock);
    finder_free(TAKE(stage.finder));
    CU_ASSERT(system_clock.monotonic(&system_clock) < begun + LONG / 2);
    stage_done(&stage);
}

SUITE(terraform_finder, TEST(a_registry_gives_the_newest_version_that_will_do),
      TEST(what_is_wrong_with_a_registry_is_said), TEST(what_does_not_come_is_not_waited_for),
      TEST(an_archive_that_is_too_large_is_not_kept), TEST(only_hosts_that_a_flag_names_are_asked),
      TEST(a_server_of_another_certificate_is_not_trusted),
      TEST(a_network_mirror_gives_what_its_hashes_say), TEST(sources_are_asked_in_their_order),
      TEST(a_lock_file_decides), TEST(what_is_there_is_not_downloaded_again),
      TEST(a_copy_that_was_changed_is_not_used),
      TEST(a_change_of_the_mirror_does_not_reach_the_copy),
      TEST(what_was_not_used_for_long_makes_room), TEST(what_is_given_back_makes_room),
      TEST(what_a_killed_operator_left_is_removed), TEST(a_folder_that_others_may_write_is_refused),
      TEST(a_copy_that_is_gone_is_made_anew), TEST(the_recorded_version_runs_while_nobody_answers),
      TEST(a_recorded_version_of_a_copy_that_was_changed_does_not_run),
      TEST(the_source_counts_again_when_it_answers), TEST(many_callers_make_one_download),
      TEST(a_caller_does_not_wait_for_long), TEST(the_end_does_not_wait_for_a_download))
