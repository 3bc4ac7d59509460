/* Whether it may act, and whether it sees: the Lease, the watches, /readyz. */
#include <arpa/inet.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/kusion-system/leases"
#define LEASE   LEASES "/kusion-operator"
#define WATCHED "/apis/api.kusion.io/v1/specs"

/* ---- The Lease ---- */

static char *holder(struct scene *scene)
{
    _cleanup_value_ const struct value *lease = api_server_get(scene->server, LEASE);
    const char *name = value_string(value_path(lease, "spec", "holderIdentity", NULL));

    return str_new(name ? name : "");
}

/* Without leader election: it makes way, and leaves the Lease to whoever took it. */
static void makes_way_for_whoever_takes_the_lease(void)
{
    struct scene scene = {0};
    _cleanup_free_ char *held_by = NULL;

    scene_begin(&scene);
    scene_spec(&scene, "web", "", DEPLOYMENT("slow", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/slow");
    api_server_create(
        scene.server,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":"
        "\"kusion-system\",\"name\":\"kusion-operator\"},\"spec\":{\"holderIdentity\":\"other\","
        "\"leaseDurationSeconds\":15,\"leaseTransitions\":1,\"renewTime\":"
        "\"2026-01-01T00:00:00.000000Z\"}}");
    scene_expect_ended(&scene);
    held_by = holder(&scene);
    EXPECT_STR(held_by, "other", "the Lease is not touched");
    scene_end(&scene);
}

static int remove_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

/* etcd was set back, and State in files was not: it has the epoch of a leader that etcd does not
 * know of. Once that is accepted, the next one is a later leader all the same. */
static void leads_on_where_etcd_was_set_back(void)
{
    char directory[] = "/tmp/kusion-test-XXXXXX";
    _cleanup_free_ char *flags = NULL;
    struct scene scene = {0};

    if (!mkdtemp(directory))
        abort();
    flags = str_printf("--leader-elect=true --state-backend=file:%s", directory);
    scene.flags = flags;
    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    api_server_save(scene.server);
    for (unsigned n = 0; n < 2; n++) {
        scene_stop(&scene);
        scene_start(&scene);
    }
    scene_spec(&scene, "web", "", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_stop(&scene);
    sleep(4); /* a Lease does not change hands more than once a second */
    api_server_set_back(scene.server);
    api_server_edit(scene.server, LEASE, "{\"spec\":{\"holderIdentity\":null}}");
    scene_start(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "3"));
    scene_expect_ready(&scene, "web", "Unknown", "StoreRestored");
    scene_accept_store(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "3");
    scene_end(&scene);
    EXPECT_INT(nftw(directory, remove_file, 8, FTW_PHYS | FTW_DEPTH), 0, "cleaned up");
}

/* ---- The watches ---- */

struct blindness {
    unsigned list, watch;
};

static struct blindness blind(struct scene *scene, enum api_fault fault)
{
    struct blindness blindness = {
        .list = api_server_rule(
            scene->server, &(struct api_rule){.verb = "list", .path = WATCHED, .fault = fault}),
        .watch = api_server_rule(
            scene->server, &(struct api_rule){.verb = "watch", .path = WATCHED, .fault = fault}),
    };

    api_server_end_watches(scene->server);
    return blindness;
}

static void heal(struct scene *scene, struct blindness blindness)
{
    api_server_release(scene->server, blindness.list);
    api_server_release(scene->server, blindness.watch);
}

/* The Lease is renewed all the while; it is given up, so that another need not wait for it. */
static void a_leader_that_is_blind_gives_up(void)
{
    struct scene scene = {.flags = "--leader-elect=true --blind-timeout=2s"};
    _cleanup_free_ char *before = NULL, *after = NULL;
    struct blindness blindness;

    scene_begin(&scene);
    before = holder(&scene);
    EXPECT(*before, "it leads");
    blindness = blind(&scene, API_DROP);
    scene_expect_ended(&scene);
    after = holder(&scene);
    EXPECT_STR(after, "", "nobody's");
    heal(&scene, blindness);
    scene_start(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* A call without an answer does not keep it: the next leader finds out what came of it. */
static void a_blind_leader_waits_for_no_call(void)
{
    struct scene scene = {.flags = "--leader-elect=true --blind-timeout=2s --drain-timeout=1m"};
    _cleanup_free_ char *after = NULL;
    struct blindness blindness;
    unsigned held;

    scene_begin(&scene);
    held = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "apply", .path = CONFIGMAPS "/a", .fault = API_HOLD});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, held, 1), "in flight");
    blindness = blind(&scene, API_DROP);
    scene_expect_ended(&scene);
    after = holder(&scene);
    EXPECT_STR(after, "", "nobody's");
    heal(&scene, blindness);
    api_server_release(scene.server, held);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* It sees, it renews the Lease, and nothing that it writes arrives. */
static void a_leader_whose_writes_are_lost_gives_up(void)
{
    struct scene scene = {.flags = "--leader-elect=true --blind-timeout=2s"};
    _cleanup_free_ char *after = NULL;
    unsigned lost[2];

    scene_begin(&scene);
    lost[0] = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "write", .path = "/apis/api.kusion.io/*", .fault = API_DROP});
    lost[1] = api_server_rule(
        scene.server, &(struct api_rule){.verb = "write", .path = "/api/v1/*", .fault = API_DROP});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ended(&scene);
    after = holder(&scene);
    EXPECT_STR(after, "", "nobody's");
    for (unsigned i = 0; i < 2; i++)
        api_server_release(scene.server, lost[i]);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* What is refused would be refused of another process, too. */
static void a_leader_whose_writes_are_refused_stays(void)
{
    struct scene scene = {.flags = "--leader-elect=true --blind-timeout=1s"};
    unsigned refused;

    scene_begin(&scene);
    refused = api_server_rule(scene.server, &(struct api_rule){.verb = "write",
                                                               .path = "/apis/api.kusion.io/*",
                                                               .fault = API_ANSWER,
                                                               .status = 503});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, refused, 2), "refused");
    sleep(4);
    api_server_release(scene.server, refused);
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* Another process would be refused as well. */
static void a_leader_that_is_refused_stays(void)
{
    struct scene scene = {.flags = "--leader-elect=true --blind-timeout=1s"};
    struct blindness blindness;

    scene_begin(&scene);
    blindness = blind(&scene, API_FORBID);
    EXPECT(api_server_wait_hits(scene.server, blindness.watch, 1), "refused");
    sleep(3);
    heal(&scene, blindness);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* ---- /readyz and /healthz ---- */

/* One that nobody listens on. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&address, length) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}

/* What it answers, whole; "": it does not. */
static char *probe(int port, const char *path)
{
    _cleanup_free_ char *request =
        str_printf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct buf answer = BUF_INIT;
    char part[1024];

    buf_add_str(&answer, "");
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        for (ssize_t n; (n = recv(fd, part, sizeof(part), 0)) > 0;)
            buf_add(&answer, part, (size_t)n);
    close(fd);
    return buf_take(&answer);
}

static void expect_probe(int port, const char *path, const char *text)
{
    char *answer = probe(port, path);

    for (int ms = 0; ms < 60000 && !strstr(answer, text); ms += 50) {
        free(answer);
        usleep(50000);
        answer = probe(port, path);
    }
    EXPECT(strstr(answer, text), answer);
    free(answer);
}

static void is_ready_only_while_it_sees(void)
{
    int port = free_port();
    _cleanup_free_ char *flags =
        str_printf("--blind-timeout=2s --health-bind-address=127.0.0.1:%d", port);
    struct scene scene = {.flags = flags};
    struct blindness blindness;

    scene_begin(&scene);
    expect_probe(port, "/readyz", " 200 ");
    blindness = blind(&scene, API_DROP);
    expect_probe(port, "/readyz", "watching specs: Unavailable (");
    heal(&scene, blindness);
    expect_probe(port, "/readyz", " 200 ");
    /* A watch that resumes, and has nothing to show, is one that works. */
    blindness = blind(&scene, API_DROP);
    EXPECT(api_server_wait_hits(scene.server, blindness.watch, 1), "failed once");
    heal(&scene, blindness);
    scene_expect_quiet(&scene);
    sleep(3);
    expect_probe(port, "/readyz", " 200 ");
    scene_end(&scene);
}

/* The only worker hangs in a request, and another Spec waits. The process is alive as long as
 * nothing waits, however long the request takes. */
static void is_not_alive_while_nothing_moves(void)
{
    int port = free_port();
    _cleanup_free_ char *flags =
        str_printf("--concurrent=1 --stuck-timeout=2s --health-bind-address=127.0.0.1:%d", port);
    struct scene scene = {.flags = flags};
    unsigned hold;

    scene_begin(&scene);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    hold = api_server_rule(
        scene.server, &(struct api_rule){.verb = "get", .path = SPECS "/slow", .fault = API_HOLD});
    scene_spec(&scene, "slow", "", CONFIGMAP("b", "1"));
    EXPECT(api_server_wait_hits(scene.server, hold, 1), "it is being reconciled");
    sleep(3);
    expect_probe(port, "/healthz", " 200 ");
    scene_spec(&scene, "next", "", CONFIGMAP("c", "1"));
    expect_probe(port, "/healthz", "not ok: specs wait, and none was reconciled for ");
    expect_probe(port, "/healthz", " 503 ");
    expect_probe(port, "/readyz", " 200 ");
    api_server_release(scene.server, hold);
    expect_probe(port, "/healthz", " 200 ");
    scene_expect_ready(&scene, "slow", "True", NULL);
    scene_expect_ready(&scene, "next", "True", NULL);
    scene_end(&scene);
}

SUITE(scenario_leader, TEST(makes_way_for_whoever_takes_the_lease),
      TEST(leads_on_where_etcd_was_set_back), TEST(a_leader_that_is_blind_gives_up),
      TEST(a_blind_leader_waits_for_no_call), TEST(a_leader_whose_writes_are_lost_gives_up),
      TEST(a_leader_whose_writes_are_refused_stays), TEST(a_leader_that_is_refused_stays),
      TEST(is_ready_only_while_it_sees), TEST(is_not_alive_while_nothing_moves))
