/*
 * Discovery, and the list of all kinds, over answers of any form. The first line says how many
 * steps follow, one a line; then the answers (answers.h): f GROUP/VERSION KIND   finds     a
 * GROUP/VERSION KIND   in any version of the group x GROUP/VERSION        forgets   t MS time
 * passes     l   all kinds
 *
 * A kind that was found is the one asked for, and stays as it is to the end; that there is none is
 * said with its reason.
 */
#include "runtimes/kubernetes/client/discovery.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/kinds.h"
#include "test/fuzz/answers/answers.h"
#include "test/fuzz/fuzz.h"

#define MOST_STEPS 30

static struct {
    const struct kube_kind *kind;
    struct kube_kind copy;
} found[MOST_STEPS];
static size_t n_found;

static void keep(const struct kube_kind *kind)
{
    found[n_found].kind = kind;
    found[n_found++].copy = (struct kube_kind){str_new(kind->group_version), str_new(kind->kind),
                                               str_new(kind->plural), kind->namespaced};
}

static void check_kept(void)
{
    for (size_t i = 0; i < n_found; i++) {
        const struct kube_kind *kind = found[i].kind, *copy = &found[i].copy;

        must(str_equal(kind->group_version, copy->group_version));
        must(str_equal(kind->kind, copy->kind) && str_equal(kind->plural, copy->plural));
        must(kind->namespaced == copy->namespaced);
        free((char *)(uintptr_t)copy->group_version);
        free((char *)(uintptr_t)copy->kind);
        free((char *)(uintptr_t)copy->plural);
    }
    n_found = 0;
}

static bool is_same_group(const char *a, const char *b)
{
    size_t length = strcspn(a, "/");

    return strcspn(b, "/") == length && strncmp(a, b, length) == 0;
}

static void find(struct kube_discovery *discovery, const char *version, const char *name, bool any)
{
    const struct kube_wait wait = {0};
    const struct kube_kind *kind = NULL;
    struct error error = {0};
    int r = (any ? kube_discovery_find_any : kube_discovery_find)(discovery, version, name, &wait,
                                                                  &kind, &error);

    must_agree(r, &error);
    must(r != ERR_NOT_FOUND || str_equal(error.reason, "KindNotServed"));
    if (r < 0)
        return;
    must(str_equal(kind->kind, name) && kind->plural && !strchr(kind->plural, '/'));
    must(any ? is_same_group(kind->group_version, version)
             : str_equal(kind->group_version, version));
    must(kube_discovery_known(discovery, kind->group_version, name) == kind);
    keep(kind);
}

static void list_all(void)
{
    const struct kube_wait wait = {0};
    struct kube_kinds kinds = {0};
    struct error error = {0};
    int r = kube_kinds_read(NULL, &wait, &kinds, &error);

    must_agree(r, &error);
    must(r == 0 || (!kinds.items && !kinds.count));
    for (size_t i = 0; i < kinds.count; i++) {
        const struct kube_kind *kind = &kinds.items[i];

        must(kind->namespaced && kind->kind && kind->plural && kind->group_version);
        for (size_t j = 0; j < i && j < 20; j++)
            must(!str_equal(kind->plural, kinds.items[j].plural) ||
                 !str_equal(kind->group_version, kinds.items[j].group_version));
    }
    kube_kinds_done(&kinds);
}

static void step(struct kube_discovery *discovery, const char *line)
{
    char version[200] = "", kind[100] = "", what = 0;
    unsigned ms = 0;

    sscanf(line, "%c %199s %99s", &what, version, kind);
    if ((what == 'f' || what == 'a') && *kind)
        find(discovery, version, kind, what == 'a');
    else if (what == 'x')
        kube_discovery_forget(discovery, version);
    else if (what == 't' && sscanf(version, "%9u", &ms) == 1)
        answers_now += ms;
    else if (what == 'l')
        list_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    char *steps[MOST_STEPS];
    size_t count = (size_t)strtoul(line, NULL, 10);
    struct kube_discovery *discovery = kube_discovery_new(NULL, &answers_clock);

    answers_now = 0;
    if (count > MOST_STEPS)
        count = MOST_STEPS;
    for (size_t i = 0; i < count; i++)
        steps[i] = take_line(&data, &size);
    answers_begin(data, size, NULL);
    for (size_t i = 0; i < count; i++) {
        step(discovery, steps[i]);
        free(steps[i]);
    }
    check_kept();
    kube_discovery_free(discovery);
    return 0;
}
