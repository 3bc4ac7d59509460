#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/terraform/package/unpack.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/runtimes/terraform/script.h"
#include "test/unit/suite.h"

#define SCRIPT "test/unit/runtimes/terraform/package/packages.py"
#define MOST   (1u << 20) /* bytes of a package here */

struct stage {
    struct script script;
    char *to; /* an empty folder for each package */
};

static void stage_init(struct stage *stage)
{
    script_start(&stage->script, SCRIPT);
    stage->to = NULL;
}

static void stage_done(struct stage *stage)
{
    folder_remove(stage->to);
    script_done(&stage->script);
}

/* Waits until the script has made them all. */
static void read_to_end(struct stage *stage)
{
    char line[256];

    while (fgets(line, sizeof(line), stage->script.output))
        ;
}

static int unpack(struct stage *stage, const char *name, char ret_h1[PACKAGE_H1_SIZE],
                  struct error *error)
{
    _cleanup_free_ char *path = str_printf("%s/%s.zip", stage->script.folder, name);
    _cleanup_free_ char *program = NULL;
    struct package_writer writer;
    int archive = open(path, O_RDONLY | O_CLOEXEC), folder, r;

    folder_remove(stage->to);
    stage->to = str_printf("%s/to", stage->script.folder);
    CU_ASSERT_FATAL(archive >= 0 && mkdir(stage->to, 0700) == 0);
    folder = open(stage->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    package_writer_init(&writer, folder, MOST);
    r = package_unpack(archive, &writer, error);
    if (r >= 0)
        package_writer_finish(&writer, ret_h1);
    package_writer_done(&writer);
    close(folder);
    close(archive);
    return r < 0 ? r : package_program(stage->to, "random", &program, error);
}

static void archives_are_unpacked_with_the_hash_of_lock_files(void)
{
    struct stage stage;
    char name[64], h1[64], zh[128];
    unsigned count = 0;

    stage_init(&stage);
    for (; fscanf(stage.script.output, "%63s %63s %127s", name, h1, zh) == 3; count++) {
        _cleanup_free_ char *list = str_printf("h1:other,zh:%s", zh), *program = NULL;
        char unpacked[PACKAGE_H1_SIZE], copied[PACKAGE_H1_SIZE];
        struct package_writer writer;
        struct error error = {0};
        struct stat status;

        EXPECT_INT(unpack(&stage, name, unpacked, &error), 0, name);
        EXPECT_STR(error.message, "", name);
        EXPECT_STR(unpacked, h1, name);
        EXPECT(package_hash_is_valid(h1), name);
        EXPECT(package_hash_is_listed(list, unpacked, zh), name);
        EXPECT(!package_hash_is_listed(list, unpacked, NULL), name);
        /* What was unpacked has the same hash as a folder. */
        package_writer_init(&writer, -1, MOST);
        EXPECT_INT(package_copy(stage.to, LINKS_INSIDE, &writer, NULL), 0, name);
        package_writer_finish(&writer, copied);
        package_writer_done(&writer);
        EXPECT_STR(copied, h1, name);
        EXPECT_INT(package_program(stage.to, "random", &program, NULL), 0, name);
        EXPECT(stat(program, &status) == 0 && (status.st_mode & 0777) == 0500, name);
    }
    CU_ASSERT(count == 5);
    stage_done(&stage);
}

static void bad_archives_are_refused(void)
{
    static const struct {
        const char *name, *message;
    } table[] = {
        {"truncated", "it is no zip archive, or damaged: "},
        {"cut-in-half", "it is no zip archive, or damaged: "},
        {"no-archive", "it is no zip archive, or damaged: "},
        {"nothing", "it is no zip archive, or damaged: "},
        {"no-files", "it has no program terraform-provider-random"},
        {"bomb", "its files have more than 1 MiB"},
        {"many-files", "it has more than 1000 files"},
        {"other-sum", "cannot be unpacked: CRC error"},
        {"other-size", "cannot be unpacked: it has another size than the archive says"},
        {"encrypted", "cannot be unpacked: it is encrypted"},
        {"bzip2", "cannot be unpacked: its method of compression is not deflate"},
        {"up", "\"../evil\" is not the path of a file in a package"},
        {"up-inside", "\"a/../../evil\" is not the path of a file"},
        {"dots", "\"a/..\" is not the path of a file"},
        {"absolute", "\"/tmp/kusion-evil\" is not the path of a file"},
        {"here", "\"./evil\" is not the path of a file"},
        {"slashes", "\"a//evil\" is not the path of a file"},
        {"backslashes", "is not the path of a file"},
        {"newline", "is not the path of a file"},
        {"deep", "is not the path of a file"},
        {"up-folder", "\"..\" is not the path of a file"},
        {"link", "\"l\" cannot be unpacked: it is a symbolic link"},
        {"device", "\"d\" cannot be unpacked: it is no file"},
        {"twice", "it is no zip archive, or damaged: File already exists"},
        {"file-as-folder", "it has \"a/b\" twice"},
        {"no-program", "it has no program terraform-provider-random"},
        {"not-executable", "it has no program terraform-provider-random"},
        {"two-programs", "it has two programs, terraform-provider-random_v3.6."},
    };
    struct stage stage;

    stage_init(&stage);
    read_to_end(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *above = str_printf("%s/evil", stage.script.folder);
        struct error error = {0};
        char h1[PACKAGE_H1_SIZE];

        EXPECT_INT(unpack(&stage, table[i].name, h1, &error), ERR_INVALID, table[i].name);
        EXPECT_STR(error.reason, PACKAGE_INVALID, table[i].name);
        EXPECT(strstr(error.message, table[i].message), error.message);
        EXPECT(access(above, F_OK) < 0 && access("/tmp/kusion-evil", F_OK) < 0, table[i].name);
    }
    stage_done(&stage);
}

/* ---- Folders ---- */

#define LEADS_OUT "\"link\" is a link that leads out of the folder: put the file itself there"

static char *make_folder(void)
{
    char *root = str_new("/tmp/kusion-test-XXXXXX");
    _cleanup_free_ char *folder = NULL, *file = NULL;

    CU_ASSERT_FATAL(mkdtemp(root) != NULL);
    folder = str_printf("%s/folder", root);
    file = str_printf("%s/file", folder);
    CU_ASSERT_FATAL(mkdir(folder, 0700) == 0);
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return root;
}

static void links_in_a_folder_lead_to_files_alone(void)
{
    static const struct {
        enum package_links links;
        const char *to;
        const char *message; /* NULL: it is copied */
    } table[] = {
        {LINKS_ANYWHERE, "/proc/self/cmdline", NULL},
        {LINKS_ANYWHERE, "/etc", "\"link\" is a link to what is no file"},
        {LINKS_ANYWHERE, "/dev/zero", "\"link\" is a link to what is no file"},
        {LINKS_ANYWHERE, "/nowhere", "\"link\" cannot be read: No such file or directory"},
        {LINKS_INSIDE, "folder/file", NULL},
        {LINKS_INSIDE, "folder/../folder/file", NULL},
        {LINKS_INSIDE, "folder", "\"link\" is a link to what is no file"},
        {LINKS_INSIDE, "nowhere", "\"link\" cannot be read: No such file or directory"},
        {LINKS_INSIDE, "/proc/self/cmdline", LEADS_OUT},
        {LINKS_INSIDE, "../../proc/self/cmdline", LEADS_OUT},
        {LINKS_INSIDE, "folder/../../../etc/passwd", LEADS_OUT},
        {LINKS_INSIDE, "link", "\"link\" cannot be read: Too many levels of symbolic links"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_(folder_remove_p) char *root = make_folder();
        _cleanup_(package_writer_done) struct package_writer writer;
        _cleanup_free_ char *link = NULL;
        struct error error = {0};

        link = str_printf("%s/link", root);
        CU_ASSERT_FATAL(symlink(table[i].to, link) == 0);
        package_writer_init(&writer, -1, MOST);
        EXPECT_INT(package_copy(root, table[i].links, &writer, &error),
                   table[i].message ? ERR_INVALID : 0, table[i].to);
        EXPECT_STR(error.message, table[i].message ? table[i].message : "", table[i].to);
    }
}

struct writer {
    int fd;
    atomic_bool is_done;
};

static void *append(void *arg)
{
    struct writer *writer = arg;

    while (!atomic_load(&writer->is_done))
        CU_ASSERT_FATAL(write(writer->fd, "x", 1) == 1);
    return NULL;
}

/* Somebody writes all the time, so that it is seen in one attempt or another. */
static void a_file_that_changes_while_it_is_read_is_an_error(void)
{
    _cleanup_(folder_remove_p) char *root = make_folder();
    _cleanup_free_ char *path = str_printf("%s/folder/file", root);
    struct writer all = {.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)};
    struct error error = {0};
    pthread_t thread;
    int r = 0;

    CU_ASSERT_FATAL(ftruncate(all.fd, 1 << 20) == 0);
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, append, &all) == 0);
    while (r == 0) {
        _cleanup_(package_writer_done) struct package_writer writer;

        package_writer_init(&writer, -1, UINT64_MAX);
        r = package_copy(root, LINKS_INSIDE, &writer, &error);
    }
    atomic_store(&all.is_done, true);
    pthread_join(thread, NULL);
    close(all.fd);
    EXPECT_STR(error.message, "\"folder/file\" was changed while it was read; it is tried again",
               "says so");
}

static void hashes_are_read_strictly(void)
{
    static const struct {
        const char *text;
        bool is_valid;
    } table[] = {
        {"h1:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVU=", true},
        {"zh:0ea12f21b2a45bedbb14161a2d0cbf63646ed6f8976ca95fc5f0a133bb60d037", true},
        {"h1:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVU", false},
        {"h1:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVUA", false},
        {"h1:", false},
        {"zh:0EA12F21B2A45BEDBB14161A2D0CBF63646ED6F8976CA95FC5F0A133BB60D037", false},
        {"zh:0ea12f", false},
        {"h2:Pvc1RDouhF9X1b6GpnLYLG69b3NJDYkE3OAN1yqsKVU=", false},
        {"", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        EXPECT_INT(package_hash_is_valid(table[i].text), table[i].is_valid, table[i].text);
    CU_ASSERT(!package_hash_is_listed(NULL, "h1:a", "b"));
    CU_ASSERT(!package_hash_is_listed("", "h1:a", "b"));
    CU_ASSERT(!package_hash_is_listed("h1:ab h1:", "h1:a", "b"));
    CU_ASSERT(package_hash_is_listed("zh:c, zh:b", "h1:a", "b"));
}

SUITE(terraform_package, TEST(archives_are_unpacked_with_the_hash_of_lock_files),
      TEST(bad_archives_are_refused), TEST(links_in_a_folder_lead_to_files_alone),
      TEST(a_file_that_changes_while_it_is_read_is_an_error), TEST(hashes_are_read_strictly))
