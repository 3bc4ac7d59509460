#include "test/unit/runtimes/terraform/finder_stage.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/suite.h"

#define SCRIPT "test/unit/runtimes/terraform/registry.py"
#define HUGE   (UINT64_C(1) << 30)

void stage_init(struct stage *stage)
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
                                                      .answer_time = STAGE_LONG,
                                                      .archive_time = STAGE_LONG},
                                           .cache = stage->cache,
                                           .cache_bytes = HUGE,
                                           .patience = STAGE_LONG};
}

void stage_restart(struct stage *stage)
{
    finder_free(stage->finder);
    stage->finder = finder_new(&stage->config);
}

void stage_done(struct stage *stage)
{
    finder_free(stage->finder);
    known_unref(stage->known);
    free(stage->host);
    free(stage->mirror);
    free(stage->ca);
    free(stage->cache);
    script_done(&stage->script);
}

int stage_find(struct stage *stage, const char *kind, const char *version, struct found *ret,
               struct error *error)
{
    _cleanup_free_ char *text = str_printf("%s/%s/random%s%s", stage->host, kind,
                                           version ? "/" : "", version ? version : "");
    _cleanup_(source_done) struct source wanted = {0}, allowed = {0};

    CU_ASSERT_FATAL(source_read(text, '/', &wanted, NULL) == 0);
    source_copy(&allowed, &wanted);
    free(allowed.version);
    allowed.version = str_new(stage->allowed);
    allowed.folder = str_new(stage->folder);
    if (!stage->finder)
        stage_restart(stage);
    return finder_find(stage->finder,
                       &(struct finder_ask){.namespace_name = "team",
                                            .allowed = &allowed,
                                            .wanted = &wanted,
                                            .known = stage->known},
                       system_clock.monotonic(&system_clock) + STAGE_LONG, NULL, ret, error);
}

unsigned stage_requests(const struct stage *stage, const char *with)
{
    _cleanup_free_ char *all = script_read(&stage->script, "requests");
    unsigned count = 0;

    for (const char *at = all; (at = strstr(at, with)); at++)
        count++;
    return count;
}

bool stage_is_tidy(const struct stage *stage)
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

void stage_expect(const struct stage *stage, const struct found *found, const char *note)
{
    EXPECT_STR(found->package->h1, stage->h1, note);
    EXPECT(access(found->program, X_OK) == 0, note);
    EXPECT(str_has_prefix(found->program, found->package->folder), note);
}

/* ---- Files ---- */

void stage_copy(const struct stage *stage, const char *name, const char *to)
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

void make_folders(const char *path)
{
    _cleanup_free_ char *all = str_new(path);

    for (char *slash = strchr(all + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(all, 0755);
        *slash = '/';
    }
}

void spoil(const char *path)
{
    FILE *file;

    chmod(path, 0700);
    file = fopen(path, "ae");
    CU_ASSERT_FATAL(file != NULL);
    fputs("evil", file);
    fclose(file);
}
